// The chip with one core.

#pragma once

#include <memory>

#include "Vchip.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

using Top = Vchip;

class Machine {
public:
    explicit Machine(unsigned /*threads*/) {
#if VM_TRACE
        context_.traceEverOn(true);
#endif
        top_ = std::make_unique<Vchip>(&context_, "chip");
    }
    ~Machine() { top_->final(); }

    Top& top() { return *top_; }
    void reset(bool on) { top_->rst = on; }
    // The only core is switched off with its chip.
    bool switch_off(unsigned /*core*/) { return false; }
    // Let what the harness drives reach the ports.
    void settle() {
        top_->clk = 0;
        top_->eval();
    }
    // The rising edge.
    void rise() {
        top_->clk = 1;
        top_->eval();
    }
    bool busy() const { return false; }
    bool looped() const { return false; }

private:
    VerilatedContext context_;
    std::unique_ptr<Vchip> top_;
};
