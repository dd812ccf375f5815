// Runs a module with a clock and a mask of what has differed, in Verilator.

#include <cstdint>

#include "Vpair.h"
#include "verilated.h"

// What has differed after so many cycles.
extern "C" uint64_t systolith_pair(uint64_t cycles) {
    VerilatedContext context;
    Vpair pair{&context, "pair"};
    for (uint64_t half = 0; half < 2 * cycles; ++half) {
        pair.clock = half & 1;
        pair.eval();
    }
    pair.final();
    return pair.differs;
}
