// kept_in_memory STEPS: trains STEPS steps with a state of two parts, one of which the ranks divide, and
// keeps it in memory in every step. In the first run the ranks of DIE_ON_NODE (or else rank 1) kill
// themselves after DIE_AT steps, or those of WAIT_ON_NODE wait to be killed after WAIT_AT steps. A step lasts
// PAUSE_MS longer. Prints where
// it continues, and at the end a sum of the state.
#include <det/checkpoint/state.hpp>
#include <det/core/context.hpp>
#include <det/protocol/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace det;
using checkpoint::DataType, checkpoint::NamedTensor;

class Training {
public:
    Training(core::Context& context, std::uint64_t steps)
        : context_(context),
          steps_(steps),
          ranks_(static_cast<std::uint64_t>(context.distributed().size())),
          rank_(static_cast<std::uint64_t>(context.distributed().rank().value)),
          own_(size) {
        state_.push_back(NamedTensor::slice("own", DataType::float64, {ranks_, size}, {{rank_, 0}, {1, size}},
                                            own_.data()));
        state_.push_back(NamedTensor::whole("shared", DataType::float64, {}, &shared_));
    }

    Status run() {
        auto& checkpoint = context_.checkpoint();
        std::uint64_t step = 0;
        DET_TRY_ASSIGN(auto const loaded, checkpoint.load(state_));
        if (loaded) step = loaded->manifest.steps_completed;
        if (loaded && rank_ == 0)
            std::printf("continues at step %llu from %s\n", static_cast<unsigned long long>(step),
                        loaded->is_from_memory ? "memory" : "a checkpoint");
        while (step < steps_) {
            std::this_thread::sleep_for(pause_);
            DET_TRY(train(++step));
            DET_TRY_ASSIGN(bool const is_kept, checkpoint.keep_in_memory(step, Json::object(), state_));
            if (is_kept && rank_ == 0 && !std::exchange(has_kept_, true)) std::printf("keeps its state\n");
            if (step == 5) DET_TRY(checkpoint.save(step, Json::object(), state_));
            DET_TRY(checkpoint.poll());
            if (rank_ == 0 && (step <= 1000 || pause_.count() > 0))
                DET_TRY(context_.train().report_training_metrics(step, Json{{"shared", shared_}}));
            die_if_asked(step);
            if (is_asked(step, "WAIT_AT", "WAIT_ON_NODE")) wait_to_be_killed();
        }
        DET_TRY_ASSIGN(auto const total,
                       context_.distributed().allreduce(std::accumulate(own_.begin(), own_.end(), shared_),
                                                        collectives::ReduceOp::sum));
        if (rank_ == 0) std::printf("the state is %.17g\n", total);
        std::fflush(stdout);
        return context_.close();
    }

private:
    static constexpr std::uint64_t size = 100'000;

    Status train(std::uint64_t step) {
        for (std::uint64_t i = 0; i < size; ++i)
            own_[i] = own_[i] * 0.999 + static_cast<double>((rank_ + 1) * (step * 7 + i) % 1000) * 1e-3;
        DET_TRY_ASSIGN(shared_, context_.distributed().allreduce(own_[step % size] + shared_ / 10,
                                                                 collectives::ReduceOp::sum));
        return Ok{};
    }

    /// Whether this is the first run, this step, and this node; without a node, whether this is rank 1.
    bool is_asked(std::uint64_t step, char const* step_variable, char const* node_variable) const {
        auto const* at = std::getenv(step_variable);
        auto const* run = std::getenv("DET_TRIAL_RUN_ID");
        if (at == nullptr || run == nullptr || std::string(run) != "0" || std::to_string(step) != at)
            return false;
        auto const* node = std::getenv(node_variable);
        auto const* here = std::getenv("SLURMD_NODENAME");
        return node == nullptr ? rank_ == 1 : here != nullptr && std::string(here) == node;
    }
    static char const* find_variable(char const* name, char const* otherwise) {
        auto const* value = std::getenv(name);
        return value == nullptr ? otherwise : value;
    }
    void die_if_asked(std::uint64_t step) const {
        if (is_asked(step, "DIE_AT", "DIE_ON_NODE")) ::raise(SIGKILL);
    }
    static void wait_to_be_killed() {
        std::printf("waits to be killed\n");
        std::this_thread::sleep_for(std::chrono::minutes(5));
        std::quick_exit(1);
    }

    core::Context& context_;
    std::uint64_t const steps_;
    std::uint64_t const ranks_, rank_;
    std::vector<double> own_;
    double shared_ = 1;
    bool has_kept_ = false;
    std::chrono::milliseconds const pause_{std::atoi(find_variable("PAUSE_MS", "0"))};  // of a step
    checkpoint::State state_;
};

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    auto context = core::Context::init();
    auto const steps = std::strtoull(argc > 1 ? argv[1] : "60", nullptr, 10);
    auto const done = context ? Training(*context, steps).run() : Status(context.error());
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return 1;
}
