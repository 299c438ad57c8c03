#pragma once
#include "collective_entry.hpp"
#include "exchange.hpp"

namespace det::collectives::node {

/// One operation of this rank, as a state machine: advance() goes as far as the other ranks' progress allows,
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
        return has_entered_ ? exchange_.awaited(slot) : entry_.awaited(slot);
    }
    /// Changes with each step of progress.
    std::uint64_t moves() const { return exchange_.moves(); }
    /// Once it is complete.
    Status result() const;
    /// Whether it reads or writes a part of that memory.
    virtual bool uses(Bytes) const { return false; }

protected:
    Operation(collectives::Call const& call, Status const& refused) : call_(call) {
        if (!refused) refusal_ = refused.error();
    }

    /// Leaves this rank's input where the other ranks find it after the entry. Returns the bytes of the
    /// payload that it uses.
    virtual std::size_t location(RankSlot&, Payload&) { return 0; }
    /// Called when all ranks have entered with the same call. Returns whether an exchange must run, for which
    /// it has made the plan; otherwise the operation is complete.
    virtual bool on_all_entered(RankSlot&, ExchangePlan&) { return false; }

private:
    collectives::Call call_;
    collectives::Call reported_call_;
    std::optional<Error> refusal_;
    bool has_begun_ = false;
    bool has_entered_ = false;
    CollectiveEntry entry_;
    Exchange exchange_;
};

}  // namespace det::collectives::node
