#pragma once
#include <memory>
#include <vector>

#include "seat.hpp"
#include "stamp.hpp"

namespace det::collectives::node {

/// How every operation begins: all ranks arrive, and see from one line of each that all called the same.
/// Nobody goes on before all have come; so what a rank left in shared memory for the operation before has
/// been read by then.
///
/// Where they differ, or one refuses, each writes out what it called and reads what the others did: the same
/// Error on all, and the next operation can be tried.
class Arrival {
public:
    /// Call and refusal stay where they are. refusal: null where there is none.
    void begin(collectives::Call const& call, Error const* refusal);
    /// What this rank writes to say that it has come.
    std::uint64_t stamp() const { return stamp_; }
    /// Whether all have come and what follows is known.
    bool advance(Seat& seat);

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
    Stage stage_ = Stage::meeting;
    int next_ = 0;
    bool differs_ = false;
    std::unique_ptr<Error const> objection_;  // apart: each operation makes an Arrival, and an Error is large
};

}  // namespace det::collectives::node
