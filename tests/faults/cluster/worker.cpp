// faults_cluster_worker NAME TRACE STEPS: one rank of a training. Its final weights differ if a step was
// skipped or done twice. NAME makes the process recognisable by its command line. The chief appends lines
// "RUN EVENT" to the file TRACE; an event is one of: restoring, resumed STEP, step STEP, preempted STEP,
// final CHECKSUMS.
#include <det/core/context.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <numeric>
#include <thread>

namespace {

using namespace det;
using namespace std::chrono_literals;

constexpr std::size_t values_of_a_rank = 256 << 10;  // 2 MiB
constexpr std::uint64_t steps_between_saves = 8;
constexpr auto step_time = 20ms;  // simulates the computation of a step

class Training {
public:
    Training(core::Context& context, UniqueFd trace)
        : context_(context), trace_(std::move(trace)), values_(values_of_a_rank) {
        auto const rank = static_cast<std::uint64_t>(context_.distributed().rank().value);
        auto const size = static_cast<std::uint64_t>(context_.distributed().size());
        std::iota(values_.begin(), values_.end(), static_cast<std::int64_t>(rank * values_of_a_rank));
        state_.push_back(tensor::NamedTensor::slice(
            "values", tensor::DataType::int64, {size * values_of_a_rank},
            {{rank * values_of_a_rank}, {values_of_a_rank}}, reinterpret_cast<std::byte*>(values_.data())));
    }

    Status run(std::uint64_t steps) {
        DET_TRY(trace_event("restoring"));
        DET_TRY_ASSIGN(auto const loaded, context_.checkpoint().load(state_));
        if (loaded) step_ = loaded->manifest.steps_completed;
        DET_TRY(trace_event(fmt::format("resumed {}", step_)));
        while (step_ < steps) {
            DET_TRY(train_step());
            DET_TRY(trace_event(fmt::format("step {}", step_)));
            DET_TRY_ASSIGN(bool const preempted, context_.preempt().should_preempt());
            if (preempted) return stop();
            if (step_ % steps_between_saves == 0) DET_TRY(save());
            DET_TRY(context_.checkpoint().poll());
        }
        DET_TRY(save());
        DET_TRY(context_.checkpoint().finish());
        DET_TRY(trace_weights());
        return context_.close();
    }

private:
    /// Each value depends on its old value and on a sum over all ranks.
    Status train_step() {
        std::this_thread::sleep_for(step_time);
        DET_TRY_ASSIGN(auto const sum, context_.distributed().allreduce(values_[step_ % values_of_a_rank],
                                                                        collectives::ReduceOp::sum));
        auto const shared = static_cast<std::uint64_t>(sum) + ++step_;
        for (auto& value : values_)
            value =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * 6364136223846793005u + shared);
        if (!context_.distributed().is_chief()) return Ok{};
        return context_.train().report_training_metrics(step_, {{"loss", shared % 1'000'003}});
    }

    Status save() {
        DET_TRY(context_.checkpoint().save(step_, Json::object(), state_));
        return Ok{};
    }

    Status stop() {
        DET_TRY(context_.checkpoint().save_before_preemption(step_, Json::object(), state_));
        DET_TRY(trace_event(fmt::format("preempted {}", step_)));
        return context_.close();
    }

    Status trace_weights() {
        auto const sum = crc32c(std::as_bytes(std::span<std::int64_t const>(values_)));
        DET_TRY_ASSIGN(auto const sums, context_.distributed().gather(format_hex32(sum)));
        return trace_event("final " + join(sums, " "));
    }

    Status trace_event(std::string const& event) {
        if (!context_.distributed().is_chief()) return Ok{};
        return write_all(trace_.get(), fmt::format("{} {}\n", context_.info()->trial->trial_run_id, event),
                         "the trace");
    }

    core::Context& context_;
    UniqueFd trace_;
    std::vector<std::int64_t> values_;
    checkpoint::State state_;
    std::uint64_t step_ = 0;
};

Status train(char const* trace, std::uint64_t steps) {
    DET_TRY_ASSIGN(auto context, core::Context::init());
    if (context.info() == nullptr || !context.info()->trial)
        return Error{codes::usage, "it runs in an experiment only"};
    UniqueFd fd(::open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return Training(context, std::move(fd)).run(steps);
}

}  // namespace

int main(int argc, char** argv) {
    auto const steps = argc == 4 ? parse_integer<std::uint64_t>(argv[3]) : std::nullopt;
    if (!steps) return 2;
    auto const done = train(argv[2], *steps);
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return to_int(done.error().code.exit);
}
