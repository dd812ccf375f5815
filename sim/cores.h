// The chip with several cores: one object of the Verilated uncore, and of the core one for each.
//
// SYSTOLITH_CORES  their number
//
// `joints.h`, generated from the ports, names what is wired to what.

#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "Vcore.h"
#include "Vuncore.h"
#include "verilated.h"

#include "joints.h"

using Top = Vuncore;

// Splits work between this thread and helpers that spin: a cycle is too short to sleep.
class Team {
public:
    explicit Team(unsigned size) {
        for (unsigned i = 1; i < size; ++i) {
            threads_.emplace_back([this, i] { help(i); });
        }
    }
    ~Team() {
        stop_ = true;
        round_.fetch_add(1, std::memory_order_release);
        for (auto& thread : threads_) thread.join();
    }
    unsigned size() const { return unsigned(threads_.size()) + 1; }

    // Calls work(0) to work(size - 1), each in its own thread, and waits for all.
    template <typename Work> void operator()(const Work& work) {
        if (threads_.empty()) return work(0);
        work_ = [](const void* context, unsigned i) { (*static_cast<const Work*>(context))(i); };
        context_ = &work;
        done_.store(0, std::memory_order_relaxed);
        round_.fetch_add(1, std::memory_order_release);
        work(0);
        wait([this] { return done_.load(std::memory_order_acquire) == threads_.size(); });
    }

private:
    // Spins, but lets others run where threads outnumber processors.
    template <typename Condition> static void wait(Condition condition) {
        for (unsigned i = 1; !condition(); ++i) {
            if (i % 4096 == 0) std::this_thread::yield();
        }
    }

    void help(unsigned i) {
        for (unsigned seen = 0;;) {
            wait([&] { return round_.load(std::memory_order_acquire) != seen; });
            ++seen;
            if (stop_) return;
            work_(context_, i);
            done_.fetch_add(1, std::memory_order_release);
        }
    }

    void (*work_)(const void*, unsigned) = nullptr;
    const void* context_ = nullptr;
    std::atomic<unsigned> round_ = 0, done_ = 0;
    std::atomic<bool> stop_ = false;
    std::vector<std::thread> threads_;
};

class Machine {
public:
    explicit Machine(unsigned threads) : team_{std::min(std::max(threads, 1u), kCores)} {
        top_ = std::make_unique<Vuncore>(&context_, "uncore");
        for (unsigned i = 0; i < kCores; ++i) {
            contexts_.push_back(std::make_unique<VerilatedContext>());
            cores_.push_back(std::make_unique<Vcore>(contexts_[i].get(), "core"));
            pointers_[i] = cores_[i].get();
        }
        top_->eval();
        for (auto& core : cores_) core->eval();
    }
    ~Machine() {
        top_->final();
        for (auto& core : cores_) core->final();
    }

    Top& top() { return *top_; }
    void reset(bool on) {
        top_->rst = on;
        for (unsigned i = 0; i < kCores; ++i) cores_[i]->rst = on || off_[i];
    }
    // Keep a core in reset from here on; whether there is one of this number.
    bool switch_off(unsigned core) {
        if (core >= kCores) return false;
        off_[core] = true;
        cores_[core]->rst = 1;
        return true;
    }

    // Let what the harness drives reach the ports of the chip. Outputs of cores come from registers.
    void settle() {
        from_cores(*top_, pointers_, [](auto& to, const auto& from) { to = from; });
        top_->clk = 0;
        top_->eval();
    }

    // The rising edge.
    void rise() {
        to_cores(*top_, pointers_, [](const auto& from, auto& to) { to = from; });
        team_([this](unsigned part) {
            for (unsigned i = part; i < kCores; i += team_.size()) settle(*cores_[i]);
        });
        from_cores(*top_, pointers_, [this](const auto& was, const auto& is) {
            looped_ |= std::memcmp(&was, &is, sizeof was) != 0;
        });
        top_->clk = 1;
        team_([this](unsigned part) {
            for (unsigned i = part; i < kCores; i += team_.size()) rise(*cores_[i]);
            if (part == 0) top_->eval();
        });
    }

    bool busy() const { return top_->busy; }
    // An output of a core followed an input within a cycle: then all of this is wrong.
    bool looped() const { return looped_; }

private:
    static constexpr unsigned kCores = SYSTOLITH_CORES;

    static void settle(Vcore& core) {
        core.clk = 0;
        core.eval();
    }
    static void rise(Vcore& core) {
        core.clk = 1;
        core.eval();
    }

    VerilatedContext context_;
    std::unique_ptr<Vuncore> top_;
    std::vector<std::unique_ptr<VerilatedContext>> contexts_;
    std::vector<std::unique_ptr<Vcore>> cores_;
    Vcore* pointers_[kCores];
    bool off_[kCores] = {};
    bool looped_ = false;
    Team team_;
};
