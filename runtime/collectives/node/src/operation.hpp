#pragma once
#include "collective_entry.hpp"
#include "exchange.hpp"

namespace det::collectives::node {

/// One operation of this rank: goes on as far as the others have come whenever it is asked to, and never
/// waits.
class Operation {
public:
    virtual ~Operation() = default;
    Operation(Operation const&) = delete;
    Operation& operator=(Operation const&) = delete;

    /// Arrives. Those before it are over.
    void begin(RankSlot& slot);
    bool has_begun() const { return has_begun_; }
    /// Whether it is over.
    bool advance(RankSlot& slot);

    collectives::Call const& call() const { return call_; }
    /// What it is to the ranks, once it has begun.
    collectives::Call const& reported_call() const { return reported_call_; }
    /// Who has to come or to do something before it can go on.
    std::vector<int> awaited(RankSlot const& slot) const {
        return has_entered_ ? exchange_.awaited(slot) : entry_.awaited(slot);
    }
    /// Changes whenever something was done.
    std::uint64_t moves() const { return exchange_.moves(); }
    /// Once it is over.
    Status result() const;
    /// Whether it reads or writes some of that memory.
    virtual bool uses(Bytes) const { return false; }

protected:
    Operation(collectives::Call const& call, Status const& refused) : call_(call) {
        if (!refused) refusal_ = refused.error();
    }

    /// Leaves what the others need, where all find it once this rank has arrived. How much of the payload it
    /// has taken.
    virtual std::size_t location(RankSlot&, Payload&) { return 0; }
    /// All have arrived and called the same. Returns whether there is an exchange to go through, for which
    /// the plan was made; otherwise the operation is over.
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
