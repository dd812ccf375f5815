// Plays packets into a mesh in Verilator and notes what arrives; a C interface for ctypes. Ports
// are those of top.py. Before this text, SYSTOLITH_NODES(F) is defined as F(0) F(1) ..., once for each
// node.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "Vmeshtop.h"
#include "verilated.h"

namespace {

constexpr unsigned kPorts = 5;
// The mesh is empty when nothing has moved for so many cycles in which all nodes accept.
constexpr unsigned kIdle = 8;

struct Packet {
    uint64_t time;    // not sent before this cycle
    uint32_t node;
    uint32_t target;
};

struct Arrival {
    uint64_t cycle;
    uint32_t node;
    uint32_t tag;
    uint32_t source;  // x in bits 0 to 3, y in bits 4 to 7
    uint32_t good;
};

class Random {
public:
    explicit Random(uint64_t seed) : state_{seed * 2 + 1} {}
    bool percent(unsigned share) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ % 100 < share;
    }

private:
    uint64_t state_;
};

class Player {
public:
    explicit Player(unsigned nodes) : nodes_{nodes}, moved(nodes * kPorts) {
        top_ = std::make_unique<Vmeshtop>(&context_, "meshtop");
#define SYSTOLITH_NODE(node)             \
    in_.push_back(&top_->send##node[0]); \
    out_.push_back(&top_->receive##node[0]);
        SYSTOLITH_NODES(SYSTOLITH_NODE)
        for (unsigned node = 0; node < nodes; ++node) in(node)[0] = in(node)[1] = in(node)[2] = 0;
        top_->rst = 1;
        for (int cycle = 0; cycle < 4; ++cycle) tick();
        top_->rst = 0;
    }
    ~Player() { top_->final(); }

    // Play packets until all have arrived, for at most `limit` cycles; the number of arrivals. What
    // moves is counted in cycles from `first` to before `end`.
    uint64_t play(const Packet* packets, uint64_t count, uint64_t limit, uint64_t first,
                  uint64_t end, unsigned stall, uint64_t seed, uint64_t* accepted,
                  Arrival* arrivals, uint64_t room) {
        std::vector<std::vector<uint32_t>> queues(nodes_);
        for (uint64_t index = 0; index < count; ++index)
            queues[packets[index].node].push_back(index);
        std::vector<size_t> next(nodes_);
        std::fill(moved.begin(), moved.end(), 0);
        Random random{seed};
        uint64_t arrived = 0, left = count;
        unsigned idle = 0;
        for (cycles = 0; cycles < limit && arrived < room && (left || idle < kIdle); ++cycles) {
            for (unsigned node = 0; node < nodes_; ++node) {
                const auto& queue = queues[node];
                const bool sends =
                    next[node] < queue.size() && packets[queue[next[node]]].time <= cycles;
                if (sends) {
                    in(node)[0] = packets[queue[next[node]]].target;
                    in(node)[1] = queue[next[node]];
                }
                in(node)[2] = sends | !random.percent(stall) << 1;
            }
            edge(0);
            ++idle;
            for (unsigned node = 0; node < nodes_ && arrived < room; ++node) {
                const uint32_t state = out(node)[0];
                if (first <= cycles && cycles < end)
                    for (unsigned port = 0; port < kPorts; ++port)
                        moved[node * kPorts + port] += state >> (3 + port) & 1;
                // What waits for a node that does not accept is not idle.
                if (state & 0xfa) idle = 0;
                if (in(node)[2] & 1 && state & 1) {
                    accepted[queues[node][next[node]++]] = cycles;
                    --left;
                    idle = 0;
                }
                if (in(node)[2] & 2 && state & 2)
                    arrivals[arrived++] = {cycles, node, out(node)[1], state >> 8 & 0xff,
                                           state >> 2 & 1};
            }
            edge(1);
        }
        return arrived;
    }

    uint32_t dropped(unsigned node) { return out(node)[2] & 0xffff; }

private:
    uint32_t* in(unsigned node) { return in_[node]; }
    const uint32_t* out(unsigned node) { return out_[node]; }
    void edge(int clk) {
        top_->clk = clk;
        top_->eval();
    }
    void tick() {
        edge(0);
        edge(1);
    }

    VerilatedContext context_;
    std::unique_ptr<Vmeshtop> top_;
    unsigned nodes_;
    std::vector<uint32_t*> in_, out_;

public:
    std::vector<uint64_t> moved;
    uint64_t cycles = 0;
};

}  // namespace

extern "C" {

Player* systolith_mesh_create(uint32_t nodes) { return new Player(nodes); }

void systolith_mesh_destroy(Player* player) { delete player; }

uint64_t systolith_mesh_play(Player* player, const Packet* packets, uint64_t count, uint64_t limit,
                             uint64_t first, uint64_t end, uint32_t stall, uint64_t seed,
                             uint64_t* accepted, Arrival* arrivals, uint64_t room) {
    return player->play(packets, count, limit, first, end, stall, seed, accepted, arrivals, room);
}

// Cycles of the last play, packets that left each port of each node, dropped ones of each node.
uint64_t systolith_mesh_result(Player* player, uint64_t* moved, uint64_t* dropped) {
    std::copy(player->moved.begin(), player->moved.end(), moved);
    for (size_t node = 0; node * kPorts < player->moved.size(); ++node)
        dropped[node] = player->dropped(node);
    return player->cycles;
}

}  // extern "C"
