#pragma once
#include <deque>
#include <memory>

#include "loss_detector.hpp"
#include "operation.hpp"

namespace det::collectives::node {

class NodeGroup;

/// The flags of the ranks of this node, on cache lines that operations do not use.
class NodeFlags final : public collectives::SharedFlags {
public:
    NodeFlags(NodeGroup& group, RankSlot const& slot, LossDetector& losses, Cores const& cores)
        : group_(group), slot_(slot), losses_(losses), cores_(cores) {}

    void write(std::uint64_t value) override {
        slot_.control.flag(slot_.rank).value.store(value, std::memory_order_release);
        slot_.wake();
    }
    std::uint64_t read(int local_rank) const override {
        return slot_.control.flag(local_rank).value.load(std::memory_order_acquire);
    }
    Result<std::uint64_t> wait(int local_rank, IsEnough is_enough,
                               collectives::NamedCall const& call) override;

private:
    NodeGroup& group_;
    RankSlot const& slot_;
    LossDetector& losses_;
    Cores const& cores_;
};

class NodeGroup final : public collectives::RankGroup {
public:
    NodeGroup(RankSlot slot, Options options);
    ~NodeGroup() override;

    Status barrier() override;
    Result<std::vector<std::string>> gather(std::string value, Status const& refused) override;
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused) override;
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override;
    Status run(collectives::TensorCall const& call, Status const& refused) override;
    collectives::Handle start(collectives::TensorCall const& call, Status const& refused) override;
    std::string algorithm_name(collectives::TensorCall const& call) const override;
    Result<collectives::Buffer> allocate(std::size_t size_bytes) override;
    void abandon() noexcept override;
    Status check_ranks() override { return losses_.check_all(); }
    collectives::ControlChannel control_channel() override { return {.flags = &flags_}; }

    /// A started operation, shared by its handle and the group.
    struct Started {
        std::unique_ptr<Operation> operation;
        std::optional<Status> result = {};
    };
    /// Makes progress with started operations, without blocking.
    Status progress();
    /// Blocks until this operation, and therefore each earlier one, is complete.
    Status finish(Started const& wanted);
    Status check_usable() const;

private:
    void finish_started();
    /// Completes started operations that use this memory, before it is released.
    void finish_users_of(Bytes memory);
    /// Completes the first started operation with this result.
    void complete_first(Status result);
    Status complete(Operation& operation);
    /// Whether allreduce_small() can do the call. It is the fast path for small data, without an Operation.
    bool is_small_allreduce(collectives::TensorCall const& call) const;
    Status allreduce_small(collectives::TensorCall const& call);
    [[gnu::noinline]] Status run_in_stages(collectives::TensorCall const& call, Status const& refused);
    /// The call as ranks compare it, with the number of the current operation.
    collectives::Call reported_now(collectives::Call const& call) const;
    bool poll_all(std::uint64_t signature, Bytes payload) const {
        return cores_ == Cores::own && slot_.poll_all(signature, payload.size() > first_payload_bytes);
    }
    /// The slow path of an entry: blocks until all ranks have entered, and reports a mismatch or a lost rank.
    [[gnu::noinline]] Status wait_for_all(collectives::Call const& reported_call);
    Result<std::vector<std::string>> run_objects(collectives::Call call, std::string value,
                                                 Status const& refused);

    Options options_;
    ExchangePlan plan_;
    RankSlot slot_;
    LossDetector losses_;
    Cores cores_;
    std::size_t small_below_bytes_;
    NodeFlags flags_{*this, slot_, losses_, cores_};
    std::optional<liveness::Heartbeat> heartbeat_;
    std::deque<std::shared_ptr<Started>> started_;
    bool has_left_ = false;
};

}  // namespace det::collectives::node
