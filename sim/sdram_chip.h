// An SDRAM chip of 16 bits that believes nothing: every command is checked against the state of its
// bank and the times of the data sheet, and the first rule that is broken is kept in words.
//
// One call a rising edge of the chip's clock. Times are in picoseconds, so that a controller's
// rounding to cycles is checked, too.

#ifndef SYSTOLITH_SDRAM_CHIP_H
#define SYSTOLITH_SDRAM_CHIP_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sdram {

// All in picoseconds but the last three. Python has the same fields in the same order.
struct Parameters {
    int64_t period, rcd, rp, ras, ras_most, rc, rfc, rrd, wr, mrd, startup, refresh, cas2;
    int64_t row_bits, column_bits;
    int64_t startup_refreshes;
};

// The pins at an edge; one means active, and `drive` that the other side drives the data.
struct Pins {
    bool clock_enable, select, ras, cas, we, drive;
    uint32_t bank, address, mask, data;
};

// What the chip drives after an edge until the next.
struct Output {
    bool drive = false;
    uint16_t data = 0;
};

class Chip {
public:
    explicit Chip(const Parameters& parameters)
        : p_{parameters}, words_(size_t{4} << (p_.row_bits + p_.column_bits)) {
        // Memory holds anything at power-up.
        uint32_t state = 1;
        for (uint16_t& word : words_) word = uint16_t((state = state * 1664525 + 1013904223) >> 16);
    }

    // 'nullptr' while no rule was broken.
    const char* violation() const { return violation_.empty() ? nullptr : violation_.c_str(); }
    uint64_t edges() const { return uint64_t(edge_); }
    uint64_t refreshes() const { return refreshes_; }
    uint16_t& word(uint64_t address) { return words_[address % words_.size()]; }

    Output edge(const Pins& pins) {
        ++edge_;
        if (!pins.clock_enable) {
            require(now() < p_.startup, "the clock was disabled");
            return {};
        }
        if (pins.select) execute(pins);
        write_data(pins);
        check_refresh();
        for (const Bank& bank : banks_) {
            require(!bank.open || now() - bank.activated <= p_.ras_most, "a row was open too long");
        }
        masks_ = {masks_[1], pins.mask};
        return read_data(pins);
    }

private:
    static constexpr int64_t kNever = -(int64_t{1} << 60);
    enum Command { kMode = 0, kRefresh, kPrecharge, kActivate, kWrite, kRead, kStop, kNone };

    struct Bank {
        bool open = false;
        uint32_t row = 0;
        int64_t activated = kNever, precharged = kNever, written = kNever;
    };
    struct Burst {
        bool write = false;
        uint32_t bank = 0, column = 0;
        int64_t first = kNever;  // edge of its first word
        uint64_t row_base = 0;
    };

    int64_t now() const { return edge_ * p_.period; }

    void require(bool good, const char* rule) {
        if (good || !violation_.empty()) return;
        violation_ = "edge " + std::to_string(edge_) + ": " + rule;
    }
    void at_least(int64_t since, int64_t time, const char* rule) {
        require(now() - since >= time, rule);
    }

    void execute(const Pins& pins) {
        const auto command = Command(!pins.ras << 2 | !pins.cas << 1 | !pins.we);
        if (command == kNone) return;
        at_least(0, p_.startup, "a command came before the end of the start-up time");
        at_least(mode_set_, p_.mrd, "tMRD: a command follows the mode register too soon");
        at_least(refreshed_, p_.rfc, "tRFC: a command follows a refresh too soon");
        switch (command) {
            case kMode: return set_mode(pins);
            case kRefresh: return refresh();
            case kPrecharge: return precharge(pins);
            case kActivate: return activate(pins);
            case kWrite:
            case kRead: return column(pins, command == kWrite);
            default: require(false, "a burst was stopped, which nobody needs");
        }
    }

    bool all_closed() const {
        return std::none_of(banks_.begin(), banks_.end(), [](const Bank& b) { return b.open; });
    }

    void set_mode(const Pins& pins) {
        require(all_closed(), "the mode register was set with a row open");
        require(refreshes_ >= uint64_t(p_.startup_refreshes), "too few refreshes before the mode");
        burst_ = 1 << (pins.address & 7);
        cas_ = pins.address >> 4 & 7;
        require((pins.address & 7) <= 3 && !(pins.address & ~0x77u) && pins.bank == 0,
                "the mode register was set to what is not meant");
        require(cas_ == 3 || (cas_ == 2 && p_.period >= p_.cas2), "CAS latency and clock do not fit");
        mode_set_ = now();
    }

    void refresh() {
        require(precharged_all_, "the first command was not a precharge of all banks");
        require(all_closed(), "a refresh came with a row open");
        for (const Bank& bank : banks_) {
            at_least(bank.precharged, p_.rp, "tRP: a refresh follows a precharge too soon");
            at_least(bank.activated, p_.rc, "tRC: a refresh follows an activation too soon");
        }
        // What single refreshes are late must not add up: 8192 of them in 64 ms.
        if (cas_) late_ = std::max<int64_t>(0, late_ + now() - due_from_ - p_.refresh);
        refreshed_ = due_from_ = now();
        ++refreshes_;
    }

    void check_refresh() {
        if (!cas_) {
            due_from_ = now();
        } else {
            require(now() - due_from_ + late_ <= 2 * p_.refresh, "refresh interval: one was left out");
        }
    }

    void precharge(const Pins& pins) {
        const bool all = pins.address >> 10 & 1;
        precharged_all_ |= all;
        for (uint32_t index = 0; index < banks_.size(); ++index) {
            Bank& bank = banks_[index];
            if (!all && index != pins.bank) continue;
            if (bank.open) {
                at_least(bank.activated, p_.ras, "tRAS: a row was closed too soon");
                at_least(bank.written, p_.wr, "tWR: a row was closed too soon after a write");
                require(edge_ - bank.written / p_.period >= 2 || bank.written == kNever,
                        "tWR: a row was closed less than two cycles after a write");
                require(burst_word() < 0 || current_.bank != index, "a precharge cut a burst off");
                bank.precharged = now();
            }
            bank.open = false;
        }
    }

    void activate(const Pins& pins) {
        Bank& bank = banks_[pins.bank];
        require(cas_, "a row was opened before the mode register was set");
        require(!bank.open, "a row was opened in a bank with an open row");
        require(pins.address < 1u << p_.row_bits, "a row was opened that does not exist");
        at_least(bank.precharged, p_.rp, "tRP: a row was opened too soon after a precharge");
        at_least(bank.activated, p_.rc, "tRC: a row was opened too soon after another");
        for (const Bank& other : banks_) {
            at_least(other.activated, std::max(p_.rrd, 2 * p_.period),
                     "tRRD: a row was opened too soon after one of another bank");
        }
        bank.open = true;
        bank.row = pins.address;
        bank.activated = now();
    }

    void column(const Pins& pins, bool write) {
        const Bank& bank = banks_[pins.bank];
        const uint32_t column = pins.address & ((1u << p_.column_bits) - 1);
        require(bank.open, "a column of a closed row was accessed");
        require(!(pins.address & ~((1u << p_.column_bits) - 1)), "a column does not exist");
        require(column % burst_ == 0, "a burst begins in the middle");
        at_least(bank.activated, p_.rcd, "tRCD: a column was accessed too soon");
        require(burst_word() < 0, "a burst was cut off by the next");
        current_ = {write, pins.bank, column, edge_,
                    (uint64_t{bank.row} << 2 | pins.bank) << p_.column_bits};
        if (!write) reads_.push_back({current_, edge_ + cas_});
    }

    // Number of the word that the present burst is at, of its command and not of its data; negative
    // when it has ended.
    int64_t burst_word() const {
        const int64_t number = edge_ - current_.first;
        return number < int64_t(burst_) ? number : -1;
    }

    void write_data(const Pins& pins) {
        const int64_t number = burst_word();
        if (!current_.write || number < 0) {
            require(!pins.drive, "data came that nobody wants");
            return;
        }
        require(pins.drive, "data of a write are missing");
        uint16_t& word = words_[current_.row_base + current_.column + number];
        const uint16_t hidden = (pins.mask & 1 ? 0x00FF : 0) | (pins.mask & 2 ? 0xFF00 : 0);
        word = uint16_t((word & hidden) | (pins.data & ~hidden));
        banks_[current_.bank].written = now();
    }

    // The chip drives word `i` from `cas - 1 + i` edges after the command on. The other side must not
    // until a whole period after the end.
    Output read_data(const Pins& pins) {
        const bool before = output_.drive || drove_;
        drove_ = output_.drive;
        output_ = {};
        while (!reads_.empty() && edge_ >= reads_.front().due - 1 + int64_t(burst_)) {
            reads_.erase(reads_.begin());
        }
        for (const Read& read : reads_) {
            const int64_t number = edge_ - (read.due - 1);
            if (number < 0 || number >= int64_t(burst_)) continue;
            output_.drive = true;
            output_.data = words_[read.burst.row_base + read.burst.column + number];
            require(!masks_[0], "the mask hides what is read");
        }
        require(!(pins.drive && (before || output_.drive)), "no pause between the sides' data");
        return output_;
    }

    struct Read {
        Burst burst;
        int64_t due;  // edge at which the first word is taken
    };

    Parameters p_;
    std::vector<uint16_t> words_;
    std::array<Bank, 4> banks_;
    std::array<uint32_t, 2> masks_{};
    Burst current_;
    std::vector<Read> reads_;
    Output output_;
    std::string violation_;
    int64_t edge_ = 0, mode_set_ = kNever, refreshed_ = kNever, due_from_ = 0, late_ = 0;
    uint64_t refreshes_ = 0;
    uint32_t burst_ = 1, cas_ = 0;
    bool precharged_all_ = false, drove_ = false;
};

}  // namespace sdram

#endif
