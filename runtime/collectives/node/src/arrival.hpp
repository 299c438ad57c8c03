#pragma once
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
    /// What is tiny was put into the payload of the cell already.
    void post(Seat& seat, collectives::Call const& call, Status const& refused);
    /// Whether all have come and what follows is known.
    bool advance(Seat& seat);

    int awaited() const { return next_; }
    Status const& verdict() const { return verdict_; }

private:
    enum class Stage { meeting, stating };

    void state_ours(Seat& seat);
    Status judge(Seat const& seat) const;

    collectives::Call call_;
    Status refused_ = Ok{};
    std::uint64_t stamp_ = 0;
    Stage stage_ = Stage::meeting;
    int next_ = 0;
    bool differs_ = false;
    Status verdict_ = Ok{};
};

}  // namespace det::node_collectives
