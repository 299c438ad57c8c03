#pragma once
#include "collective_entry.hpp"
#include "exchange.hpp"

namespace det::collectives::node {

/// One operation of this rank. advance() makes as much progress as the other ranks allow and never
/// blocks.
class Operation {
public:
    virtual ~Operation() = default;
    Operation(Operation const&) = delete;
    Operation& operator=(Operation const&) = delete;

    /// Enters the operation. All operations before it must be complete.
    void begin(RankSlot& slot);
    bool has_begun() const { return has_begun_; }
    /// Returns true when the operation is complete.
    bool advance(RankSlot& slot);

    collectives::Call const& call() const { return call_; }
    /// The call record that the ranks compare. Valid after begin().
    collectives::Call const& reported_call() const { return reported_call_; }
    /// The ranks for which the operation waits.
    std::vector<int> awaited(RankSlot const& slot) const {
        return has_entered_ ? exchange_.awaited(slot) : entry_.awaited(slot);
    }
    /// Increases with all progress.
    std::uint64_t moves() const { return exchange_.moves(); }
    /// The result. Valid after completion.
    Status result() const;
    /// Whether it reads or writes some of this memory.
    virtual bool uses(Bytes) const { return false; }

protected:
    Operation(collectives::Call const& call, Status const& refused) : call_(call) {
        if (!refused) refusal_ = refused.error();
    }

    /// Publishes the data or its location, before this rank enters the operation. Returns the used size of
    /// the payload.
    virtual std::size_t location(RankSlot&, Payload&) { return 0; }
    /// Called when all ranks have entered the same call. Returns true if it has planned an exchange; false if
    /// the operation is complete.
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
