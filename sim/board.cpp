// The machine of a board, or its whole top level, in Verilator, with the far end of its UART at bit
// level and the SDRAM chip beside it; a C interface for ctypes. Every loop has a limit in cycles.
//
// SYSTOLITH_BOARD  1: the top level with its pads, 0: the machine by itself
// SYSTOLITH_SDRAM  1: the top level has pins for an SDRAM chip
// VM_TRACE         1: with VCD traces

#include <cstdint>
#include <deque>
#include <memory>

#if SYSTOLITH_BOARD
#include "Vboard.h"
using Top = Vboard;
#else
#include "Vmachine.h"
using Top = Vmachine;
#endif
#include "sdram_chip.h"
#include "uart_line.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

#if SYSTOLITH_BOARD
// The top level resets itself for 1024 cycles after power-up, and some more.
constexpr int kResetCycles = 1100;
#endif

class Board {
public:
    Board(uint64_t bit_to, uint64_t bit_from, const sdram::Parameters* parameters, uint64_t late)
        : sender_{bit_to}, receiver_{bit_from}, coming_(late) {
        if (parameters) chip_ = std::make_unique<sdram::Chip>(*parameters);
#if VM_TRACE
        context_.traceEverOn(true);
#endif
        top_ = std::make_unique<Top>(&context_, "top");
#if SYSTOLITH_BOARD
        for (int cycle = 0; cycle < kResetCycles; ++cycle) tick();
#else
        top_->rst = 1;
        for (int cycle = 0; cycle < 4; ++cycle) tick();
        top_->rst = 0;
#endif
    }

    ~Board() {
#if VM_TRACE
        if (trace_) trace_->close();
#endif
        top_->final();
    }

    void tick() {
        top_->rx = sender_();
        edge(0);
        receiver_(top_->tx);
        edge(1);
        ++cycles;
    }

    bool trace_open(const char* path) {
#if VM_TRACE
        trace_ = std::make_unique<VerilatedVcdC>();
        top_->trace(trace_.get(), 99);
        trace_->open(path);
        return trace_->isOpen();
#else
        (void)path;
        return false;
#endif
    }

    uart::LineSender& sender() { return sender_; }
    uart::LineReceiver& receiver() { return receiver_; }
    // Which rule of the chip was broken, or 'nullptr'.
    const char* violation() const { return chip_ ? chip_->violation() : nullptr; }
    uint64_t refreshes() const { return chip_ ? chip_->refreshes() : 0; }
    uint64_t cycles = 0;

private:
    void edge(int clk) {
#if SYSTOLITH_BOARD
        top_->clock = clk;
#else
        top_->clk = clk;
#endif
        top_->eval();
        serve_chip();
#if VM_TRACE
        if (trace_) trace_->dump(2 * cycles + clk);
#endif
    }

    // The chip works at the rising edges of its own clock, and its pins are active when low. No time
    // passes on the wires here, so what they make late comes that many edges later.
    void serve_chip() {
#if SYSTOLITH_SDRAM
        if (top_->sdram_clock && !chip_clock_) {
            sdram::Pins pins{};
            pins.clock_enable = top_->sdram_clock_enable;
            pins.select = !top_->sdram_select;
            pins.ras = !top_->sdram_ras, pins.cas = !top_->sdram_cas, pins.we = !top_->sdram_we;
            pins.bank = top_->sdram_bank, pins.address = top_->sdram_address;
            pins.mask = top_->sdram_mask, pins.data = top_->sdram_data__out;
            pins.drive = top_->sdram_data__en != 0;
            coming_.push_back(chip_->edge(pins));
            const sdram::Output output = coming_.front();
            coming_.pop_front();
            // Wires that nobody drives have any value.
            top_->sdram_data = output.drive ? output.data : uint16_t(0x5A5A * chip_->edges());
        }
        chip_clock_ = top_->sdram_clock;
#endif
    }

    VerilatedContext context_;
    std::unique_ptr<Top> top_;
    std::unique_ptr<sdram::Chip> chip_;
#if SYSTOLITH_SDRAM
    bool chip_clock_ = false;
#endif
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
#endif
    uart::LineSender sender_;
    uart::LineReceiver receiver_;
    std::deque<sdram::Output> coming_;
};

}  // namespace

extern "C" {

// A board whose host sends with `bit_to` and listens with `bit_from` cycles a bit, 16 bits of them
// a fraction; `parameters` are those of its SDRAM chip, or 'nullptr', and `late` how many edges of the
// clock pass before the one that takes the chip's data.
Board* systolith_board_create(uint64_t bit_to, uint64_t bit_from,
                              const sdram::Parameters* parameters, uint64_t late) {
    return new Board(bit_to, bit_from, parameters, late);
}

void systolith_board_destroy(Board* board) { delete board; }

uint64_t systolith_board_cycles(Board* board) { return board->cycles; }

// Which rule of the SDRAM chip was broken, or 'nullptr'.
const char* systolith_board_violation(const Board* board) { return board->violation(); }

// Refreshes of the SDRAM chip so far.
uint64_t systolith_board_refreshes(const Board* board) { return board->refreshes(); }

void systolith_board_send(Board* board, const uint8_t* data, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) board->sender().push(data[i]);
}

// Run `cycles`, or until `room` bytes have come; take those that have.
uint64_t systolith_board_run(Board* board, uint64_t cycles, uint8_t* data, uint64_t room) {
    for (; cycles && board->receiver().size() < room; --cycles) board->tick();
    uint64_t count = 0;
    for (; count < room && board->receiver().size(); ++count) data[count] = board->receiver().take();
    return count;
}

// Whether a byte is on the line or waits for it.
int systolith_board_sending(Board* board) { return !board->sender().idle(); }

int systolith_board_trace(Board* board, const char* path) { return board->trace_open(path) ? 0 : 1; }

}  // extern "C"
