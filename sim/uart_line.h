// The host's end of a UART, bit by bit.

#ifndef SYSTOLITH_UART_LINE_H
#define SYSTOLITH_UART_LINE_H

#include <cstddef>
#include <cstdint>
#include <deque>

namespace uart {

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

}  // namespace uart

#endif
