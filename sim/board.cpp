// The machine of a board in Verilator, with the far end of its UART at bit level; a C interface for
// ctypes. Every loop has a limit in cycles.
//
// VM_TRACE  1: with VCD traces

#include <cstdint>
#include <deque>
#include <memory>

#include "Vmachine.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

// Times on the line are in cycles with 16 bits of fraction, so that a baud rate can be a little off.
constexpr unsigned kFraction = 16;
constexpr unsigned kFrameBits = 10;

// Puts bytes onto a line: start bit, eight data bits, the lowest first, stop bit.
class LineSender {
public:
    explicit LineSender(uint64_t bit) : bit_{bit} {}

    void push(uint8_t byte) { bytes_.push_back(byte); }
    bool idle() const { return bytes_.empty() && !left_; }

    bool operator()() {
        if (left_ && elapsed_ >= bit_) {
            elapsed_ -= bit_;
            --left_;
            bits_ = bits_ >> 1 | 1u << kFrameBits;
        }
        if (!left_) {
            if (bytes_.empty()) return true;
            bits_ = bytes_.front() << 1 | 1u << 9;
            bytes_.pop_front();
            left_ = kFrameBits;
            elapsed_ = 0;
        }
        elapsed_ += uint64_t{1} << kFraction;
        return bits_ & 1;
    }

private:
    uint64_t bit_;
    uint64_t elapsed_ = 0;
    uint32_t bits_ = 1;
    unsigned left_ = 0;
    std::deque<uint8_t> bytes_;
};

// Takes bytes from a line, each bit in its middle. A byte without a stop bit is dropped.
class LineReceiver {
public:
    explicit LineReceiver(uint64_t bit) : bit_{bit} {}

    size_t size() const { return bytes_.size(); }
    bool busy() const { return left_; }
    uint8_t take() {
        const uint8_t byte = bytes_.front();
        bytes_.pop_front();
        return byte;
    }

    void operator()(bool line) {
        if (!left_) {
            if (line) armed_ = true;
            if (line || !armed_) return;
            left_ = kFrameBits;
            wait_ = bit_ / 2;
        }
        if (wait_ > kCycle / 2) {
            wait_ -= kCycle;
            return;
        }
        wait_ += bit_ - kCycle;
        bits_ = bits_ >> 1 | uint32_t{line} << 9;
        if (--left_) return;
        armed_ = line;
        if (line && !(bits_ & 1)) bytes_.push_back(uint8_t(bits_ >> 1));
    }

private:
    static constexpr int64_t kCycle = int64_t{1} << kFraction;

    int64_t bit_;
    int64_t wait_ = 0;
    uint32_t bits_ = 0;
    unsigned left_ = 0;
    bool armed_ = true;
    std::deque<uint8_t> bytes_;
};

class Board {
public:
    Board(uint64_t bit_to, uint64_t bit_from) : sender_{bit_to}, receiver_{bit_from} {
#if VM_TRACE
        context_.traceEverOn(true);
#endif
        top_ = std::make_unique<Vmachine>(&context_, "machine");
        top_->rst = 1;
        for (int cycle = 0; cycle < 4; ++cycle) tick();
        top_->rst = 0;
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

    LineSender& sender() { return sender_; }
    LineReceiver& receiver() { return receiver_; }
    uint64_t cycles = 0;

private:
    void edge(int clk) {
        top_->clk = clk;
        top_->eval();
#if VM_TRACE
        if (trace_) trace_->dump(2 * cycles + clk);
#endif
    }

    VerilatedContext context_;
    std::unique_ptr<Vmachine> top_;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
#endif
    LineSender sender_;
    LineReceiver receiver_;
};

}  // namespace

extern "C" {

// A board whose host sends with `bit_to` and listens with `bit_from` cycles a bit, 16 bits of them
// a fraction.
Board* systolith_board_create(uint64_t bit_to, uint64_t bit_from) {
    return new Board(bit_to, bit_from);
}

void systolith_board_destroy(Board* board) { delete board; }

uint64_t systolith_board_cycles(Board* board) { return board->cycles; }

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
