#pragma once
#include <string>

#include "collective_entry.hpp"
#include "exchange.hpp"

namespace det::collectives::node {

/// One operation of this rank, as a state machine. advance() makes as much progress as the other ranks allow,
/// and never blocks.
class Operation {
public:
    virtual ~Operation() = default;
    Operation(Operation const&) = delete;
    Operation& operator=(Operation const&) = delete;

    /// Enters the operation. The previous one must be complete.
    void begin(RankSlot& slot);
    bool has_begun() const { return has_begun_; }
    /// Returns whether the operation is complete.
    bool advance(RankSlot& slot);

    collectives::Call const& call() const { return call_; }
    /// The call as ranks compare it, once the operation has begun.
    collectives::Call const& reported_call() const { return reported_call_; }
    /// The ranks that have to enter or to make progress before this one can continue.
    std::vector<int> awaited(RankSlot const& slot) const {
        return is_exchanging_ ? exchange_.awaited(slot) : entry_.awaited(slot);
    }
    /// Changes with each step of progress.
    std::uint64_t moves() const { return exchange_.moves(); }
    /// The result of the operation, after it is complete.
    Status result() const;
    /// Whether the operation reads or writes any of this memory.
    virtual bool uses(Bytes) const { return false; }

protected:
    Operation(collectives::Call const& call, Status const& refused) : call_(call) {
        if (!refused) refusal_ = refused.error();
    }

    /// Writes this rank's input, or its location, to where the other ranks read it after the entry. Returns
    /// the number of payload bytes that are used.
    virtual std::size_t location(RankSlot&, Payload&) { return 0; }
    /// Called when all ranks have entered with the same call. Either completes the operation and returns
    /// false, or makes the plan of the exchange that must follow and returns true.
    virtual bool on_all_entered(RankSlot&, ExchangePlan&) { return false; }

private:
    collectives::Call call_;
    collectives::Call reported_call_;
    std::optional<Error> refusal_;
    bool has_begun_ = false;
    bool is_exchanging_ = false;
    CollectiveEntry entry_;
    Exchange exchange_;
};

}  // namespace det::collectives::node
