#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/rank_group.hpp>

#include <set>

#include "object_collectives.hpp"

namespace det::collectives {

/// \return codes::misuse for values that no operation can use
Status check(Tuning const& tuning);

/// Ranks that are connected by messages. Each operation is an agreement, followed by a schedule if the data
/// is too large for the agreement's messages.
class Communicator final : public RankGroup {
public:
    Communicator(std::shared_ptr<transport::Transport> transport, Tuning tuning);

    Result<std::vector<std::string>> gather(std::string value, Status const& refused) override;
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused) override;
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override;
    Status barrier() override;
    Status run(TensorCall const& call, Status const& refused) override;
    /// run() for a call on which all ranks have already agreed. Omits messages that only compare the calls.
    Status run_agreed(TensorCall const& call);
    std::string algorithm_name(TensorCall const& call) const override;
    void abandon() noexcept override { transport_->abandon(); }
    ControlChannel control_channel() override { return {.transport = transport_.get()}; }
    Status check_ranks() override { return transport_->check_ranks(); }

private:
    /// Begins the next operation: numbers it and prepares its agreement message. Returns its channel.
    Channel begin(Call call, Status const& refused);
    Status agree(Channel channel, Merge const& merge);
    /// Agrees before a schedule moves data, unless the ranks have already agreed on the call.
    Status agree_before_schedule(Channel channel);
    /// Ends an operation: flushes the messages that other ranks still need. Adds the operation to an Error,
    /// unless all ranks have agreed on that Error.
    template <class T>
    Result<T> finish_operation(Result<T> result) const {
        auto const flushed = transport_->flush();
        if (has_mismatch_ || (result && flushed)) return result;
        return with_context(result ? flushed.error() : std::move(result).error());
    }
    Error with_context(Error error) const;
    /// Agrees with all ranks, and returns an Entry for each rank.
    Result<std::vector<Entry>> agree_on_entries(Channel channel, std::string const& value);
    Result<std::vector<std::string>> gather_begun(Channel channel, std::string value);
    Result<std::vector<std::string>> allgather_begun(Channel channel, std::string const& value);
    Result<std::string> broadcast_begun(Channel channel, std::string value, Rank from);
    Status allreduce(Channel channel, Tensor tensor, ReduceOp op);
    Status allreduce_halves(Channel channel, Tensor tensor, ReduceOp op);
    Status allreduce_small(Channel channel, Tensor tensor, ReduceOp op);
    bool is_small(std::size_t size_bytes) const { return size_bytes <= tuning_.small_limit_bytes; }
    bool is_forced(Kind kind) const;
    Algorithm algorithm_for(Kind kind, std::size_t size_bytes) const;
    void explain(Kind kind, std::size_t size_bytes, Algorithm algorithm);
    /// The plan for data that follows the agreement. Calls explain().
    SchedulePlan plan_for(Kind kind, std::size_t size_bytes, Rank root = {});
    Status move_by(Schedule const& schedule, Channel channel, Blocks const& blocks);
    /// Reduces the elements of all ranks in place.
    Status combine_by(SchedulePlan const& plan, Channel channel, Tensor tensor, ReduceOp op);
    Status broadcast(Channel channel, Tensor tensor, Rank from);
    Status broadcast_rest(Channel channel, transport::MutableBytes bytes, Rank from);
    Status run_begun(Channel channel, TensorCall const& call);
    Status reduce_in_copy(Channel channel, TensorCall const& call);
    Status allgather_parts(Channel channel, TensorCall const& call);
    Status exchange_parts(Channel channel, TensorCall const& call);
    /// Copies the merged payload of the agreement.
    void copy_payload(transport::MutableBytes into) const;

    std::shared_ptr<transport::Transport> transport_;
    Tuning tuning_;
    std::uint64_t sequence_ = 0;
    Call call_;                  // the current operation, as messages report it
    bool is_agreed_ = false;     // all ranks agreed on the call before the current operation began
    bool has_mismatch_ = false;  // the agreement of the current operation failed, on all ranks
    Schedule agreement_;
    Message mine_;
    Message theirs_;
    std::vector<std::byte> segments_;
    std::set<std::pair<Kind, std::size_t>> explained_;  // kinds and sizes for which explain() was called
};

}  // namespace det::collectives
