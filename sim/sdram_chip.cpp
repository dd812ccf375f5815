// The model of an SDRAM chip by itself, with a C interface for ctypes.

#include "sdram_chip.h"

extern "C" {

sdram::Chip* systolith_sdram_create(const sdram::Parameters* parameters) {
    return new sdram::Chip(*parameters);
}

void systolith_sdram_destroy(sdram::Chip* chip) { delete chip; }

// One edge. `pins` is packed as SdramPins of the controller; what the chip drives then, or -1.
int32_t systolith_sdram_edge(sdram::Chip* chip, uint64_t pins) {
    const auto field = [&pins](unsigned bits) {
        const uint32_t value = pins & ((1u << bits) - 1);
        pins >>= bits;
        return value;
    };
    sdram::Pins at{};
    at.clock_enable = at.select = true;
    at.we = field(1), at.cas = field(1), at.ras = field(1);
    at.bank = field(2), at.address = field(13), at.mask = field(1) ? 3 : 0, at.data = field(16);
    at.drive = field(1);
    const sdram::Output output = chip->edge(at);
    return output.drive ? output.data : -1;
}

const char* systolith_sdram_violation(const sdram::Chip* chip) { return chip->violation(); }

uint64_t systolith_sdram_refreshes(const sdram::Chip* chip) { return chip->refreshes(); }

uint16_t systolith_sdram_word(sdram::Chip* chip, uint64_t address) { return chip->word(address); }

}  // extern "C"
