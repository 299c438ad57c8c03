#include <det/collectives/distributed_context.hpp>
#include <det/collectives/node/node_group.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/liveness/wait_recorder.hpp>

#include <cstdio>
#include <cstdlib>

#include "contestant.hpp"

namespace det::bench {
namespace {

[[noreturn]] void give_up(Error const& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    std::exit(1);
}

template <class T>
T must(Result<T> result) {
    if (!result) give_up(result.error());
    return *std::move(result);
}

class DetContestant final : public Contestant {
public:
    DetContestant(std::string const& directory, int rank, int size) : context_(open(directory, rank, size)) {}

    int rank() const override { return context_.rank().value; }
    int size() const override { return context_.size(); }
    std::span<float> memory(std::size_t count, bool own_allocator) override {
        auto& buffer =
            buffers_.emplace_back(own_allocator ? must(context_.allocate(count * sizeof(float)))
                                                : must(collectives::allocate_private(count * sizeof(float))));
        return buffer.as<float>();
    }
    void allreduce(std::span<float> values) override {
        must(context_.allreduce(values, collectives::ReduceOp::sum));
    }
    std::size_t allgather(std::span<char const> value, std::span<int const>) override {
        std::size_t sum = 0;
        for (auto const& each : must(context_.allgather(std::string(value.data(), value.size()))))
            sum += each.size();
        return sum;
    }

private:
    /// Records waits, as in a run.
    static collectives::DistributedContext open(std::string const& directory, int rank, int size) {
        auto page = must(liveness::WaitPage::open_for_writing(directory + "/waits", rank));
        auto const recorder = std::make_shared<liveness::WaitRecorder>(std::move(page), rank, rank);
        collectives::node::Options options;
        options.waits.recorder = recorder;
        auto group = must(collectives::node::join_at({directory, "ranks.socket", Rank{rank}, size}, options));
        auto context = must(collectives::DistributedContext::make(std::move(group), {rank, size, 0, 1}));
        context.record_operations(recorder);
        return context;
    }

    collectives::DistributedContext context_;
    std::vector<collectives::Buffer> buffers_;
};

}  // namespace

// WORKER DIRECTORY RANK SIZE
std::unique_ptr<Contestant> make_contestant(int argc, char** argv) {
    if (argc < 4) std::exit(2);
    return std::make_unique<DetContestant>(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}

}  // namespace det::bench
