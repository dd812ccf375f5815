// Records what the engines of the chip do, cycle by cycle, as changes: a value is stored when it
// differs from the one in the cycle before, so a recording is small and costs little time.
//
// Only cycles that the chip's own counters count are recorded, and time is their number: the sums
// over a recording are the counters.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "Vchip.h"
#include "Vchip___024root.h"

namespace recorder {

constexpr size_t kEngines = 3;     // move, matrix, vector: the numbers of the ISA
constexpr size_t kSemaphores = 16;

// What a recording consists of; Python has the same numbers (`Channel` in recording.py).
enum Channel : size_t {
    kState = 0,                          // of each engine: see `State`
    kQueue = kState + kEngines,          // free words of each queue
    kStart = kQueue + kEngines,          // of each engine, an entry a command: its first cycle
    kEnd = kStart + kEngines,            // of each engine, an entry a command: the cycle of retire
    kRead = kEnd + kEngines,             // a beat came from external memory
    kWrite,                              // a beat went to external memory
    kRun,                                // an entry where counting (re)starts: the clock cycle
    kSemaphore,                          // value of each semaphore
    kChannels = kSemaphore + kSemaphores,
};

// What a cycle counts as. For kWait the bits from 8 on say which semaphores were missing.
enum State : uint32_t { kIdle = 0, kBusy = 1, kStall = 2, kWait = 3, kFence = 4 };

struct Event { uint64_t time, value; };

// The probes of one engine, copied in a cycle.
struct Engine { bool active, stall, waiting, fenced, retire; uint16_t started, space, wait; };

#define CONTROL(signal) root.chip__DOT__core0__DOT__control__DOT__##signal
#define ENGINE(name, number)                                                                      \
    Engine{bool(CONTROL(counters_2__DOT__##name##___05Factive)),                                  \
           bool(CONTROL(counters_2__DOT__##name##___05Fstall)),                                   \
           bool(CONTROL(counters_2__DOT__##name##___05Fwaiting)),                                 \
           bool(CONTROL(counters_2__DOT__##name##___05Ffenced)),                                  \
           bool(CONTROL(counters_2__DOT__##name##___05Fretire)),                                  \
           uint16_t(CONTROL(faults__DOT__##name##___05Fstarted)),                                 \
           uint16_t(CONTROL(name##_queue__DOT__space)),                                           \
           uint16_t(CONTROL(semaphores_2__DOT__wait_) >> (16 * number))}

// Bits lsb to lsb + width - 1, at most 16, of a signal of any width.
inline uint32_t bits(const uint64_t& signal, size_t lsb, size_t width) {
    return uint32_t(signal >> lsb) & ((1u << width) - 1);
}
template <size_t Words>
uint32_t bits(const VlWide<Words>& signal, size_t lsb, size_t width) {
    uint64_t pair = signal[lsb / 32];
    if (lsb % 32 + width > 32) pair |= uint64_t{signal[lsb / 32 + 1]} << 32;
    return uint32_t(pair >> lsb % 32) & ((1u << width) - 1);
}

class Recorder {
public:
    Recorder(const Vchip& top, size_t semaphores, size_t semaphore_width)
        : semaphores_{semaphores}, width_{semaphore_width} {
        const auto engines = probe(top);
        for (size_t engine = 0; engine < kEngines; ++engine) started_[engine] = engines[engine].started;
    }

    // Call it when the combinational signals of a cycle have settled, before the rising edge.
    void sample(const Vchip& top, uint64_t clock, bool read, bool write) {
        const Vchip___024root& root = *top.rootp;
        if (!CONTROL(counters_2__DOT__enable)) {
            counting_ = false;
            return;
        }
        if (!counting_) append(kRun, clock);
        counting_ = true;
        bool changed = false;
        for (size_t index = 0; index < semaphores_; ++index) {
            changed |= set(kSemaphore + index,
                           bits(CONTROL(semaphores_2__DOT__values), index * width_, width_));
        }
        if (changed) find_positive();
        const auto engines = probe(top);
        for (size_t engine = 0; engine < kEngines; ++engine) sample(engine, engines[engine]);
        set(kRead, read);
        set(kWrite, write);
        ++time_;
    }

    uint64_t time() const { return time_; }
    bool counting() const { return counting_; }
    const std::vector<Event>& events(size_t channel) const { return channels_[channel]; }

private:
    static std::array<Engine, kEngines> probe(const Vchip& top) {
        const Vchip___024root& root = *top.rootp;
        return {ENGINE(move, 0), ENGINE(matrix, 1), ENGINE(vector, 2)};
    }

    void sample(size_t engine, const Engine& now) {
        set(kState + engine, state(now));
        set(kQueue + engine, now.space);
        if (now.started == uint16_t(started_[engine] + 1)) {
            append(kStart + engine, now.started);
        } else if (now.started != started_[engine]) {
            abandon(engine);
        }
        started_[engine] = now.started;
        if (now.retire) append(kEnd + engine, 0);
    }

    // The core was reset: what was under way ends here.
    void abandon(size_t engine) {
        while (channels_[kEnd + engine].size() < channels_[kStart + engine].size()) {
            append(kEnd + engine, 0);
        }
    }

    uint32_t state(const Engine& now) const {
        if (now.active) return now.stall ? kStall : kBusy;
        if (now.waiting) return kWait | uint32_t(now.wait & ~positive_) << 8;
        return now.fenced ? kFence : kIdle;
    }

    void find_positive() {
        positive_ = 0;
        for (size_t index = 0; index < semaphores_; ++index) {
            positive_ |= uint32_t(channels_[kSemaphore + index].back().value != 0) << index;
        }
    }

    bool set(size_t channel, uint64_t value) {
        const auto& events = channels_[channel];
        if (!events.empty() && events.back().value == value) return false;
        append(channel, value);
        return true;
    }

    void append(size_t channel, uint64_t value) { channels_[channel].push_back({time_, value}); }

    size_t semaphores_, width_;
    std::array<uint16_t, kEngines> started_{};
    std::array<std::vector<Event>, kChannels> channels_;
    uint32_t positive_ = 0;
    uint64_t time_ = 0;
    bool counting_ = false;
};

}  // namespace recorder
