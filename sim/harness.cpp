// Harness around the Verilated chip, with a C interface for ctypes.
//
// It drives the clock, the host port and the external memory. One call runs many cycles, so no
// Python is executed per cycle. Every loop has a limit in cycles.
//
// SYSTOLITH_BUS_BYTES  bytes of a beat of external memory: 4, 8 or 16
// SYSTOLITH_CORES      cores of the chip; of several, each is an object of the same class (cores.h)
// SYSTOLITH_PROBES     1: the signals of probes.vlt can be read, so runs can be recorded
// VM_TRACE             1: with waveforms
// The last two are for a single core.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#if SYSTOLITH_CORES > 1
#include "cores.h"
#else
#include "single.h"
#endif
#if SYSTOLITH_PROBES
#include "recorder.h"
#endif

#ifndef SYSTOLITH_BUS_BYTES
#error "SYSTOLITH_BUS_BYTES must be 4, 8 or 16"
#endif

// Verilator writes the two underscores of Amaranth's port names as `___05F`.
#define PORT(stream, part) stream##___05F##part

static_assert(std::endian::native == std::endian::little, "beats are copied as they are");
static_assert(sizeof(Top::PORT(ext_read, payload)) == SYSTOLITH_BUS_BYTES, "bus width differs");

namespace {

constexpr uint64_t kBeat = SYSTOLITH_BUS_BYTES;

// Outcomes of the calls below. Python has the same numbers. After kNoAnswer the host port is in the
// middle of a transfer and the chip must be reset; after the others it can be used further.
enum Outcome : int {
    kOk = 0,         // done
    kTimeout = 1,    // not done within the limit of cycles
    kError = 2,      // the core stopped with an error
    kExtFault = 3,   // access outside external memory
    kNoAnswer = 4,   // the host port accepted or answered nothing
    kNoTrace = 5,    // no waveform or recording: built without, or the file cannot be written
    kStuck = 6,      // no core can go on
    kLooped = 7,     // a core has a path of logic from an input to an output: see cores.h
};

// Decides when the harness stalls: a reproducible share of the cycles.
class Stalls {
public:
    Stalls(unsigned percent, uint64_t seed)
        : threshold_{percent >= 100 ? UINT32_MAX : uint32_t((uint64_t{percent} << 32) / 100)}
        , state_{seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u} {}

    bool operator()() {
        if (!threshold_) return false;
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return uint32_t(state_ >> 32) < threshold_;
    }

private:
    uint32_t threshold_;
    uint64_t state_;
};

// External memory: requests are served in order, a read `latency` cycles or more after its request,
// and `gap` cycles from beat to beat, on average. With a gap above 1, a beat to write is taken when
// its turn comes; else many may wait.
class Memory {
public:
    Memory(uint64_t bytes, unsigned latency, double gap)
        : bytes_{bytes}, latency_{std::max(latency, 1u)}, gap_{std::max(gap, 1.0)}
        , data_{static_cast<uint8_t*>(std::calloc(bytes ? bytes : 1, 1)), &std::free} {}

    bool allocated() const { return data_ != nullptr; }

    bool transfer(uint64_t address, uint8_t* to, const uint8_t* from, uint64_t count) {
        if (address > bytes_ || count > bytes_ - address) return false;
        if (to) std::memcpy(to, data_.get() + address, count);
        if (from) std::memcpy(data_.get() + address, from, count);
        return true;
    }

    void clear_queues() {
        requests_.clear();
        writes_.clear();
        reads_.clear();
        presented_ = false;
        turn_ = 0;
    }

    void drive(Top& top, uint64_t cycle, Stalls& stalls) {
        serve(cycle);
        top.PORT(ext_request, ready) = requests_.size() < latency_ + kDepth && !stalls();
        top.PORT(ext_write, ready) = may_write(cycle) && !stalls();
        // Once valid, a beat stays until it is taken.
        if (!presented_ && !reads_.empty() && !stalls()) presented_ = true;
        top.PORT(ext_read, valid) = presented_;
        if (presented_) std::memcpy(&top.PORT(ext_read, payload), reads_.front().bytes, kBeat);
    }

    static bool reads(const Top& top) {
        return top.PORT(ext_read, valid) && top.PORT(ext_read, ready);
    }
    static bool writes(const Top& top) {
        return top.PORT(ext_write, valid) && top.PORT(ext_write, ready);
    }

    void sample(Top& top, uint64_t cycle) {
        if (top.PORT(ext_request, valid) && top.PORT(ext_request, ready)) {
            requests_.push_back({uint32_t(top.PORT(ext_request, payload)),
                                 bool(top.PORT(ext_request, payload) >> 32 & 1), cycle + latency_});
        }
        if (writes(top)) {
            std::memcpy(writes_.emplace_back().bytes, &top.PORT(ext_write, payload), kBeat);
        }
        if (presented_ && top.PORT(ext_read, ready)) {
            reads_.pop_front();
            presented_ = false;
        }
    }

    bool faulty() const { return faulty_; }
    uint32_t fault_address() const { return fault_address_; }
    void clear_fault() { faulty_ = false; }

    // A beat that the chip wrote. Order and types equal Python's EVENT.
    struct Written { uint64_t cycle; uint64_t address; };
    const std::vector<Written>& written() const { return written_; }
    void clear_written() { written_.clear(); }

private:
    static constexpr size_t kDepth = 64;
    struct Request { uint32_t address; bool write; uint64_t due; };
    struct Beat { uint8_t bytes[kBeat]; };

    bool may_write(uint64_t cycle) const {
        if (gap_ == 1) return writes_.size() < kDepth;
        return writes_.empty() && double(cycle) >= turn_;
    }

    // Whether a beat that has been ready since some cycle has its turn. Turns keep their fractions.
    bool take_turn(uint64_t ready, uint64_t cycle) {
        if (gap_ == 1) return true;
        const double turn = double(ready) >= turn_ + 1 ? double(ready) : turn_;
        if (double(cycle) < turn) return false;
        turn_ = turn + gap_;
        return true;
    }

    void serve(uint64_t cycle) {
        while (!requests_.empty()) {
            const Request& request = requests_.front();
            if (request.write ? writes_.empty()
                              : cycle < request.due || reads_.size() >= kDepth) return;
            if (!take_turn(request.write ? cycle - 1 : request.due, cycle)) return;
            serve(request);
            if (request.write) written_.push_back({cycle, request.address});
            requests_.pop_front();
        }
    }

    void serve(const Request& request) {
        bool good = request.address % kBeat == 0;
        if (request.write) {
            good = good && transfer(request.address, nullptr, writes_.front().bytes, kBeat);
            writes_.pop_front();
        } else {
            Beat& beat = reads_.emplace_back();
            good = good && transfer(request.address, beat.bytes, nullptr, kBeat);
            if (!good) std::memset(beat.bytes, 0, kBeat);
        }
        if (!good && !faulty_) {
            faulty_ = true;
            fault_address_ = request.address;
        }
    }

    uint64_t bytes_;
    uint64_t latency_;
    double gap_;
    double turn_ = 0;
    std::unique_ptr<uint8_t, decltype(&std::free)> data_;
    std::deque<Request> requests_;
    std::deque<Beat> writes_;
    std::deque<Beat> reads_;
    std::vector<Written> written_;
    bool presented_ = false;
    bool faulty_ = false;
    uint32_t fault_address_ = 0;
};

// The host's end of the link: requests go out in order, answers to reads come back in order.
class HostPort {
public:
    void write(uint32_t address, uint32_t data) {
        requests_.push_back(uint64_t{data} << 32 | (address << 1) | 1);
    }
    void read(uint32_t address) { requests_.push_back(uint64_t{address} << 1); }

    size_t unsent() const { return requests_.size(); }
    size_t answers() const { return answers_.size(); }
    uint32_t take() {
        const uint32_t answer = answers_.front();
        answers_.pop_front();
        return answer;
    }
    void clear() {
        requests_.clear();
        answers_.clear();
        presented_ = false;
    }

    void drive(Top& top, Stalls& stalls) {
        if (!presented_ && !requests_.empty() && !stalls()) presented_ = true;
        top.PORT(host_request, valid) = presented_;
        if (presented_) top.PORT(host_request, payload) = requests_.front();
        top.PORT(host_response, ready) = !stalls();
    }

    void sample(Top& top) {
        if (presented_ && top.PORT(host_request, ready)) {
            requests_.pop_front();
            presented_ = false;
        }
        if (top.PORT(host_response, valid) && top.PORT(host_response, ready)) {
            answers_.push_back(top.PORT(host_response, payload));
        }
    }

private:
    std::deque<uint64_t> requests_;
    std::deque<uint32_t> answers_;
    bool presented_ = false;
};

class Harness {
public:
    Harness(uint64_t ext_bytes, unsigned latency, double gap, unsigned stall_percent, uint64_t seed,
            unsigned threads)
        : machine_{threads}, top_{machine_.top()}, stalls_{stall_percent, seed}
        , memory{ext_bytes, latency, gap} {}

    ~Harness() { trace_close(); }

    void tick() {
        memory.drive(top_, cycles, stalls_);
        host.drive(top_, stalls_);
        machine_.settle();
#if SYSTOLITH_PROBES
        if (recorder_) recorder_->sample(top_, cycles, Memory::reads(top_), Memory::writes(top_));
#endif
        dump();
        memory.sample(top_, cycles);
        host.sample(top_);
        machine_.rise();
        dump();
        ++cycles;
    }

    bool switch_off(uint32_t core) { return machine_.switch_off(core); }
    void reset(uint32_t count) {
        machine_.reset(true);
        host.clear();
        for (uint32_t i = 0; i < count; ++i) tick();
        // What the chip asked for before or during reset is void.
        memory.clear_queues();
        memory.clear_fault();
        host.clear();
        machine_.reset(false);
    }

    bool busy() const { return machine_.busy(); }
    bool looped() const { return machine_.looped(); }

    // Write a waveform of the cycles from `first` up to, not including, `last`: those of the
    // recording where there is one, else clock cycles. Each takes 1 us; its clock rises in the middle.
    bool trace_open(const char* path, uint64_t first, uint64_t last) {
#if VM_TRACE
        trace_close();
        trace_ = std::make_unique<VerilatedVcdC>();
        trace_->set_time_unit("100ns");
        trace_->set_time_resolution("100ns");
        traced_from_ = first;
        traced_to_ = last;
        top_.trace(trace_.get(), 99);
        trace_->open(path);
        return trace_->isOpen();
#else
        (void)path, (void)first, (void)last;
        return false;
#endif
    }

    void trace_close() {
#if VM_TRACE
        if (trace_) trace_->close();
        trace_.reset();
#endif
    }

#if SYSTOLITH_PROBES
    void record(size_t semaphores, size_t semaphore_width) {
        recorder_ = std::make_unique<recorder::Recorder>(top_, semaphores, semaphore_width);
    }
    void stop_recording() { recorder_.reset(); }
    const recorder::Recorder* recorder() const { return recorder_.get(); }
#endif

    // Run until `done()`, at most `limit` cycles.
    template <typename Done> int run_until(uint64_t limit, Done done) {
        for (; !done(); --limit) {
            if (limit == 0) {
                host.clear();
                return kNoAnswer;
            }
            tick();
        }
        return kOk;
    }

    int flush(uint64_t limit) {
        return run_until(limit, [this] { return host.unsent() == 0; });
    }

    int fetch(uint32_t address, uint32_t& value, uint64_t limit) {
        host.read(address);
        const int outcome = run_until(limit, [this] { return host.answers() != 0; });
        if (outcome == kOk) value = host.take();
        return outcome;
    }

private:
    void dump() {
#if VM_TRACE
        uint64_t cycle = cycles;
#if SYSTOLITH_PROBES
        if (recorder_) {
            if (!recorder_->counting()) return;
            cycle = recorder_->time() - 1;
        }
#endif
        if (trace_ && cycle >= traced_from_ && cycle < traced_to_) {
            trace_->dump(10 * cycle + 5 * top_.clk);
        }
#endif
    }

    Machine machine_;
    Top& top_;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
    uint64_t traced_from_ = 0, traced_to_ = 0;
#endif
#if SYSTOLITH_PROBES
    std::unique_ptr<recorder::Recorder> recorder_;
#endif
    Stalls stalls_;

public:
    Memory memory;
    HostPort host;
    uint64_t cycles = 0;
};

}  // namespace

extern "C" {

// The command queues of a core, what is added to all addresses for it, and results: words pushed
// into each queue, the last STATUS read. Field order and types equal Python's _CoreArguments.
struct CoreArguments {
    const uint32_t* words[3];
    uint64_t counts[3];
    uint64_t pushed[3];
    uint32_t address;
    uint32_t status;
};

// What a run of all cores needs. Field order and types equal Python's _RunArguments.
struct RunArguments {
    CoreArguments* cores;
    uint64_t count;
    uint32_t windows[3];
    uint32_t space_address;
    uint32_t control_address;
    uint32_t control_value;
    uint32_t status_address;
    uint32_t idle_mask;
    uint32_t error_mask;
    uint32_t active_mask;
    uint64_t max_cycles;
    uint64_t cycles;  // a result: since CONTROL was written
};

}  // extern "C"

namespace {

constexpr unsigned kPollCycles = 16;
constexpr unsigned kSpaceBits = 10;
// A host port that does nothing for so long is dead; a register answers within tens of cycles.
constexpr uint64_t kAnswerLimit = 100'000;

// No core of several has moved when none was active so many times in a row: without a fault, and
// with one, after which it is likely.
constexpr unsigned kStillPolls = 64;
constexpr unsigned kStillPollsAfterFault = 8;
// What is left for the cores to execute when the mesh is empty takes less than so many cycles.
constexpr unsigned kDrainCycles = 64;

// Feeds the queues and watches STATUS until each core is idle or stopped, or time is over.
class QueueRun {
public:
    QueueRun(Harness& harness, RunArguments& arguments)
        : harness_{harness}, run_{arguments}
        , cores_{arguments.cores, arguments.cores + arguments.count} {}

    int operator()() {
        const int outcome = run();
        std::copy(cores_.begin(), cores_.end(), run_.cores);
        return harness_.looped() ? int(kLooped) : outcome;
    }

private:
    int run() {
        harness_.memory.clear_fault();
        harness_.memory.clear_written();
        int outcome = push();
        if (outcome == kOk) outcome = start();
        const uint64_t started = harness_.cycles;
        while (outcome == kOk) {
            // Whether all was pushed is asked before STATUS is read, so idle means finished.
            const bool complete = remaining() == 0;
            outcome = look();
            run_.cycles = harness_.cycles - started;
            if (outcome == kOk) outcome = judge();
            if (outcome != kOk || (complete && idle())) break;
            outcome = complete ? pause() : push();
        }
        return outcome == kOk ? drain() : outcome;
    }

    static uint64_t remaining(const CoreArguments& core) {
        uint64_t sum = 0;
        for (int queue = 0; queue < 3; ++queue) sum += core.counts[queue] - core.pushed[queue];
        return sum;
    }
    uint64_t remaining() const {
        uint64_t sum = 0;
        for (const auto& core : cores_) sum += faulty(core) ? 0 : remaining(core);
        return sum;
    }
    bool faulty(const CoreArguments& core) const { return core.status & run_.error_mask; }
    bool finished(const CoreArguments& core) const {
        return remaining(core) == 0 && core.status & run_.idle_mask;
    }
    template <typename Predicate> bool all(Predicate holds) const {
        return std::all_of(cores_.begin(), cores_.end(), holds);
    }
    bool idle() const {
        return all([this](const auto& core) { return finished(core); });
    }

    // Cores that go on are waited for, as long as one of them is active now and then.
    int judge() {
        const bool fault = !all([this](const auto& core) { return !faulty(core); });
        if (fault && all([this](const auto& core) { return faulty(core) || finished(core); })) {
            return kError;
        }
        if (harness_.memory.faulty()) return kExtFault;
        if (run_.cycles >= run_.max_cycles) return fault ? kError : kTimeout;
        const bool still = cores_.size() > 1 && !harness_.busy() && all([this](const auto& core) {
            return faulty(core) || !(core.status & run_.active_mask);
        });
        still_ = still ? still_ + 1 : 0;
        if (still_ < (fault ? kStillPollsAfterFault : kStillPolls)) return kOk;
        return fault ? kError : idle() ? kOk : kStuck;
    }

    // Read a register of each core.
    template <typename Use> int read_all(uint32_t address, Use use) {
        for (const auto& core : cores_) harness_.host.read(core.address + address);
        const int outcome = harness_.run_until(
            kAnswerLimit, [&] { return harness_.host.answers() >= cores_.size(); });
        for (auto& core : cores_) {
            if (outcome == kOk) use(core, harness_.host.take());
        }
        return outcome;
    }

    int look() {
        return read_all(run_.status_address,
                        [](CoreArguments& core, uint32_t status) { core.status = status; });
    }

    int start() {
        for (const auto& core : cores_) {
            harness_.host.write(core.address + run_.control_address, run_.control_value);
        }
        return harness_.flush(kAnswerLimit);
    }

    int pause() {
        for (unsigned i = 0; i < kPollCycles; ++i) harness_.tick();
        return kOk;
    }

    // What was sent and nobody waited for arrives before the run is over.
    int drain() {
        if (cores_.size() == 1) return kOk;
        const int outcome = harness_.run_until(kAnswerLimit, [this] { return !harness_.busy(); });
        for (unsigned i = 0; outcome == kOk && i < kDrainCycles; ++i) harness_.tick();
        return outcome;
    }

    int push() {
        if (remaining() == 0) return kOk;
        const int outcome = read_all(run_.space_address, [this](CoreArguments& core, uint32_t space) {
            if (!faulty(core)) push(core, space);
        });
        return outcome == kOk ? harness_.flush(kAnswerLimit) : outcome;
    }

    void push(CoreArguments& core, uint32_t space) {
        for (int queue = 0; queue < 3; ++queue) {
            uint32_t room = space >> (kSpaceBits * queue) & ((1u << kSpaceBits) - 1);
            uint64_t& next = core.pushed[queue];
            for (; room && next < core.counts[queue]; --room, ++next) {
                harness_.host.write(core.address + run_.windows[queue], core.words[queue][next]);
            }
        }
    }

    Harness& harness_;
    RunArguments& run_;
    std::vector<CoreArguments> cores_;
    unsigned still_ = 0;
};

}  // namespace

extern "C" {

Harness* systolith_create(uint64_t ext_bytes, uint32_t latency, double gap, uint32_t stall_percent,
                          uint64_t seed, uint32_t threads) {
    auto harness = std::make_unique<Harness>(ext_bytes, latency, gap, stall_percent, seed, threads);
    return harness->memory.allocated() ? harness.release() : nullptr;
}

void systolith_destroy(Harness* harness) { delete harness; }

void systolith_reset(Harness* harness, uint32_t cycles) { harness->reset(cycles); }

int systolith_switch_off(Harness* harness, uint32_t core) {
    return harness->switch_off(core) ? kOk : kError;
}

void systolith_step(Harness* harness, uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) harness->tick();
}

uint64_t systolith_cycles(Harness* harness) { return harness->cycles; }

int systolith_ext_write(Harness* harness, uint64_t address, const uint8_t* data, uint64_t count) {
    return harness->memory.transfer(address, nullptr, data, count) ? kOk : kExtFault;
}

int systolith_ext_read(Harness* harness, uint64_t address, uint8_t* data, uint64_t count) {
    return harness->memory.transfer(address, data, nullptr, count) ? kOk : kExtFault;
}

// Whether the chip accessed external memory out of range or not aligned to a beat, and where first.
int systolith_ext_fault(Harness* harness, uint32_t* address) {
    *address = harness->memory.fault_address();
    return harness->memory.faulty();
}

// What the chip has written since the last run began, 16 bytes each, valid until the next call that
// runs the chip.
const void* systolith_ext_written(Harness* harness, uint64_t* count) {
    *count = harness->memory.written().size();
    return harness->memory.written().data();
}

// Write `count` words to address, address + stride, ...; `limit` cycles for all of them.
int systolith_host_write(Harness* harness, uint32_t address, uint32_t stride, const uint32_t* words,
                         uint64_t count, uint64_t limit) {
    for (uint64_t i = 0; i < count; ++i) harness->host.write(address + uint32_t(i) * stride, words[i]);
    return harness->flush(limit);
}

// Read `count` words from address, address + stride, ...; `limit` cycles for all of them.
int systolith_host_read(Harness* harness, uint32_t address, uint32_t stride, uint32_t* words,
                        uint64_t count, uint64_t limit) {
    for (uint64_t i = 0; i < count; ++i) harness->host.read(address + uint32_t(i) * stride);
    const int outcome =
        harness->run_until(limit, [&] { return harness->host.answers() >= count; });
    for (uint64_t i = 0; outcome == kOk && i < count; ++i) words[i] = harness->host.take();
    return outcome;
}

int systolith_run_queues(Harness* harness, RunArguments* arguments) {
    return QueueRun{*harness, *arguments}();
}

int systolith_trace_open(Harness* harness, const char* path, uint64_t first, uint64_t last) {
    return harness->trace_open(path, first, last) ? kOk : kNoTrace;
}

void systolith_trace_close(Harness* harness) { harness->trace_close(); }

// Start a recording; an earlier one is dropped.
int systolith_record(Harness* harness, uint32_t semaphores, uint32_t semaphore_width) {
#if SYSTOLITH_PROBES
    if (semaphores > recorder::kSemaphores || semaphore_width > 16) return kNoTrace;
    harness->record(semaphores, semaphore_width);
    return kOk;
#else
    (void)harness, (void)semaphores, (void)semaphore_width;
    return kNoTrace;
#endif
}

// Cycles recorded so far.
uint64_t systolith_recorded_cycles(Harness* harness) {
#if SYSTOLITH_PROBES
    return harness->recorder() ? harness->recorder()->time() : 0;
#else
    return (void)harness, 0;
#endif
}

// The events of a channel, 16 bytes each, valid until the next call that runs the chip.
const void* systolith_recorded_events(Harness* harness, uint32_t channel, uint64_t* count) {
    *count = 0;
#if SYSTOLITH_PROBES
    if (!harness->recorder() || channel >= recorder::kChannels) return nullptr;
    const auto& events = harness->recorder()->events(channel);
    *count = events.size();
    return events.data();
#else
    return (void)harness, (void)channel, nullptr;
#endif
}

void systolith_record_end(Harness* harness) {
#if SYSTOLITH_PROBES
    harness->stop_recording();
#else
    (void)harness;
#endif
}

}  // extern "C"
