// bench-preempt-rank TRACE MIB: a rank of a training that never ends by itself. MIB is the size of the state
// of all ranks. It saves periodically and waits for the end of the save. The chief appends to TRACE: "RUN
// saved SECONDS" and, when it exits, "RUN left MEAN-STEP".
#include <det/core/context.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <thread>

namespace {

using namespace det;
using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto step_time = std::chrono::milliseconds(20);
constexpr std::uint64_t steps_between_saves = 25;

class Training {
public:
    Training(core::Context& context, UniqueFd trace, std::size_t state_size_bytes)
        : context_(context), trace_(std::move(trace)) {
        auto const rank = static_cast<std::uint64_t>(context_.distributed().rank().value);
        auto const size = static_cast<std::uint64_t>(context_.distributed().size());
        std::uint64_t const own = state_size_bytes / sizeof(float) / size;
        values_.assign(own, static_cast<float>(rank));
        state_.push_back(tensor::NamedTensor::slice("values", tensor::DataType::float32, {size * own},
                                                    {{rank * own}, {own}},
                                                    reinterpret_cast<std::byte*>(values_.data())));
    }

    Status run() {
        DET_TRY(context_.checkpoint().prepare(state_));
        DET_TRY_ASSIGN(auto const loaded, context_.checkpoint().load(state_));
        auto step = loaded ? loaded->manifest.steps_completed : 0;
        while (true) {
            auto const begin = SteadyClock::now();
            DET_TRY(train_step(++step));
            DET_TRY_ASSIGN(bool const preempted, context_.preempt().should_preempt());
            in_steps_ += SteadyClock::now() - begin;
            ++steps_;
            if (preempted) return leave(step);
            if (step % steps_between_saves == 0) DET_TRY(save_and_wait(step));
        }
    }

private:
    Status train_step(std::uint64_t step) {
        std::this_thread::sleep_for(step_time);
        DET_TRY_ASSIGN(auto const sum,
                       context_.distributed().allreduce(values_[0], collectives::ReduceOp::sum));
        values_[step % values_.size()] += sum;
        return Ok{};
    }

    Status save_and_wait(std::uint64_t step) {
        auto const begin = SteadyClock::now();
        DET_TRY(context_.checkpoint().save(step, Json::object(), state_));
        DET_TRY(context_.checkpoint().finish());
        return tell("saved", SteadyClock::now() - begin);
    }

    Status leave(std::uint64_t step) {
        DET_TRY(context_.checkpoint().save_before_preemption(step, Json::object(), state_));
        DET_TRY(context_.close());
        return tell("left", in_steps_ / steps_);
    }

    Status tell(std::string_view what, Seconds time) {
        if (!context_.distributed().is_chief()) return Ok{};
        return write_all(
            trace_.get(),
            fmt::format("{} {} {:.6f}\n", context_.info()->trial->trial_run_id, what, time.count()),
            "the trace");
    }

    core::Context& context_;
    UniqueFd trace_;
    std::vector<float> values_;
    checkpoint::State state_;
    Seconds in_steps_{0};
    double steps_ = 0;
};

Status train(char const* trace, std::size_t state_size_bytes) {
    DET_TRY_ASSIGN(auto context, core::Context::init());
    if (context.info() == nullptr || !context.info()->trial)
        return Error{codes::usage, "it runs in an experiment only"};
    UniqueFd fd(::open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    return Training(context, std::move(fd), state_size_bytes).run();
}

}  // namespace

int main(int argc, char** argv) {
    auto const size_mib = argc == 3 ? parse_integer<std::size_t>(argv[2]) : std::nullopt;
    if (!size_mib) return 2;
    auto const done = train(argv[1], *size_mib << 20);
    if (done) return 0;
    std::cerr << done.error().message << '\n';
    return to_int(done.error().code.exit);
}
