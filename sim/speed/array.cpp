// Runs an array with its weight banks on random beats: another row and another tile every cycle.
// Prints cycles a second of processor time, and a checksum of all sums.
//
// Usage: array CYCLES

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "Vbench.h"
#include "verilated.h"

namespace {

uint64_t state = 0x9E3779B97F4A7C15u;

uint32_t random_word() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return uint32_t(state >> 32);
}

template <typename Wide> void randomize(Wide& signal) {
    for (size_t i = 0; i < sizeof(signal) / sizeof(signal[0]); ++i) signal[i] = random_word();
}

void tick(Vbench& top) {
    top.clk = 0;
    top.eval();
    top.clk = 1;
    top.eval();
}

constexpr uint32_t kWords = 4096;

void fill(Vbench& top) {
    for (uint32_t address = 0; address < kWords; ++address) {
        for (unsigned bank = 0; bank < 16; ++bank) {
            top.write_banks = 1u << bank;
            top.write_address = address;
            randomize(top.write_data);
            tick(top);
        }
    }
    top.write_banks = 0;
}

}  // namespace

int main(int count, char** arguments) {
    const uint64_t cycles = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 100'000;
    VerilatedContext context;
    auto top = std::make_unique<Vbench>(&context, "bench");
    top->rst = 1;
    for (int i = 0; i < 64; ++i) tick(*top);
    top->rst = 0;
    fill(*top);
    uint64_t checksum = 0;
    const std::clock_t start = std::clock();
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        randomize(top->activations);
        top->left_unsigned = random_word() & 1;
        top->load = (random_word() & 7) != 0;
        top->address = random_word() % kWords;
        tick(*top);
        for (size_t i = 0; i < sizeof(top->sums) / sizeof(top->sums[0]); ++i) {
            checksum = checksum * 31 + top->sums[i];
        }
    }
    const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%.0f %llu\n", double(cycles) / seconds, static_cast<unsigned long long>(checksum));
    top->final();
    return 0;
}
