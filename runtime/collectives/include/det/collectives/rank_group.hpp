#pragma once
#include <det/collectives/buffer.hpp>
#include <det/collectives/call.hpp>
#include <det/collectives/handle.hpp>

#include <optional>
#include <vector>

namespace det::collectives {

/// An operation on elements. `in` and `out` are the same memory, or do not overlap; a broadcast has but
/// `out`. Where a rank gets only a part of what all put in (or puts in a part of what all get), `in` may be
/// that part of `out`.
struct TensorCall {
    Kind kind = Kind::allreduce;
    ConstTensor in;
    Tensor out;
    ReduceOp op = ReduceOp::sum;
    Rank root = {};
};

/// What the call is for the agreement and for messages; without a sequence number.
Call call_of(TensorCall const& call);

/// What connects the ranks that do operations together: messages, or the memory of a node. It may rely on
/// what DistributedContext has checked. `refused` is why this rank cannot take part as it was asked to: the
/// others hear of it, and all get the same Error.
class RankGroup {
public:
    virtual ~RankGroup() = default;
    RankGroup(RankGroup const&) = delete;
    RankGroup& operator=(RankGroup const&) = delete;

    Rank rank() const { return rank_; }
    int size() const { return size_; }

    // Where what this group does is a part of what a larger one was asked for:

    /// How that one numbers these ranks.
    void name_ranks(std::vector<Rank> names) { names_ = std::move(names); }
    /// What that one was asked for: ranks compare it in place of their operations from here on, and messages
    /// are about it.
    void speak_for(Call const& call) { spoken_ = call; }

    virtual Status barrier() = 0;
    virtual Result<std::vector<std::string>> gather(std::string value) = 0;
    virtual Result<std::vector<std::string>> allgather(std::string value) = 0;
    virtual Result<std::string> broadcast(std::string value, Rank from, Status const& refused) = 0;

    virtual Status run(TensorCall const& call, Status const& refused) = 0;
    /// Where nothing can go on beside the caller, an operation is over when it was started.
    virtual Handle start(TensorCall const& call, Status const& refused) { return Handle(run(call, refused)); }

    virtual Result<Buffer> allocate(std::size_t size_bytes);
    virtual void abandon() noexcept = 0;

protected:
    RankGroup(Rank rank, int size) : rank_(rank), size_(size) {}

    Rank named(Rank rank) const {
        return names_.empty() ? rank : names_[static_cast<std::size_t>(rank.value)];
    }
    Call said_as(Call const& call) const { return spoken_.value_or(call); }
    bool speaks_for_itself() const { return !spoken_; }

private:
    Rank rank_;
    int size_;
    std::vector<Rank> names_;     // none: its own numbers
    std::optional<Call> spoken_;  // none: its own operations
};

/// One rank, with nothing to say to anybody: on its node, say.
std::unique_ptr<RankGroup> make_alone();

/// Memory of this process alone.
Result<Buffer> allocate_private(std::size_t size_bytes);

}  // namespace det::collectives
