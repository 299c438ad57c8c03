#include <det/collectives/rank_group.hpp>

namespace det::collectives {
namespace {

/// A larger group may have used the same group for a step of its own and left its call as the scope. So each
/// operation sets the scope first.
class SharedGroup final : public RankGroup {
public:
    explicit SharedGroup(std::shared_ptr<RankGroup> group)
        : RankGroup(group->rank(), group->size()), group_(std::move(group)) {
        set_global_ranks(group_->global_ranks());
    }

    Status barrier() override { return scoped().barrier(); }
    Result<std::vector<std::string>> gather(std::string value, Status const& refused) override {
        return scoped().gather(std::move(value), refused);
    }
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused) override {
        return scoped().allgather(std::move(value), refused);
    }
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override {
        return scoped().broadcast(std::move(value), from, refused);
    }
    Status run(TensorCall const& call, Status const& refused) override { return scoped().run(call, refused); }
    Handle start(TensorCall const& call, Status const& refused) override {
        return scoped().start(call, refused);
    }
    std::string algorithm_name(TensorCall const& call) const override { return group_->algorithm_name(call); }
    Result<Buffer> allocate(std::size_t size_bytes) override { return group_->allocate(size_bytes); }
    void abandon() noexcept override {}
    Status check_ranks() override { return group_->check_ranks(); }
    Status use_stream(void* stream) override { return group_->use_stream(stream); }
    tensor::DeviceCopies* device_copies() override { return group_->device_copies(); }

private:
    RankGroup& scoped() {
        group_->set_scope(error_scope().enclosing_call);
        return *group_;
    }

    std::shared_ptr<RankGroup> group_;
};

}  // namespace

std::unique_ptr<RankGroup> make_shared_group(std::shared_ptr<RankGroup> group) {
    return std::make_unique<SharedGroup>(std::move(group));
}

}  // namespace det::collectives
