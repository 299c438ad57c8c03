#pragma once
#include <memory>
#include <vector>

#include "relax.hpp"
#include "seat.hpp"

namespace det::node_collectives {

/// How every operation begins: all ranks arrive, and see from one line of each that all called the same.
/// Nobody goes on before all have come; so what a rank left in shared memory for the operation before has
/// been read by then.
///
/// Where they differ, or one refuses, each writes out what it called and reads what the others did: the same
/// Error on all, and the next operation can be tried.
class Arrival {
public:
    /// Call and refusal stay where they are. refusal: null where there is none.
    void post(Seat& seat, collectives::Call const& call, Error const* refusal, Bytes payload);
    /// Whether all have come and what follows is known.
    bool advance(Seat& seat);
    /// The same for those who have a core to wait on: whether all came soon, and called the same.
    bool spin(Seat const& seat) {
        constexpr int polls_max = 300;
        // Who polls before a rank that comes at the same time has written takes the line away from it, and
        // waits for two hand-overs more.
        relax();
        for (int polls = 0; polls < polls_max; ++polls) {
            // Both lines are on their way at once.
            if (has_two_lines_) __builtin_prefetch(&seat.cell(next_).payload.back());
            while (seat.cell(next_).stamp.load(std::memory_order_acquire) == stamp_) {
                if (++next_ == seat.ranks) return true;
            }
        }
        return false;
    }

    /// Those who have not come yet.
    std::vector<int> awaited(Seat const& seat) const;
    /// Why the operation cannot be, once it is known; else null.
    Error const* objection() const { return objection_.get(); }

private:
    enum class Stage { meeting, stating };

    bool advance_stating(Seat& seat);
    void state_ours(Seat& seat);
    Error judge(Seat const& seat) const;

    collectives::Call const* call_ = nullptr;
    Error const* refusal_ = nullptr;
    std::uint64_t stamp_ = 0;
    bool has_two_lines_ = false;
    Stage stage_ = Stage::meeting;
    int next_ = 0;
    bool differs_ = false;
    std::unique_ptr<Error const> objection_;  // apart: each operation makes an Arrival, and an Error is large
};

}  // namespace det::node_collectives
