#include <det/experiment/experiment_poller.hpp>
#include <det/experiment/open_experiment.hpp>

#include <algorithm>

namespace det::experiment {
namespace {

using namespace std::chrono_literals;

// The poller reads the journals often, which does not load slurmctld, and asks slurmctld rarely.
constexpr auto poll_interval = 500ms;
constexpr auto queue_interval = 10s;

bool has_settled_part(tracker::history::ExperimentView const& view) {
    return is_settled(view.state) || std::any_of(view.trials.begin(), view.trials.end(),
                                                 [](auto const& trial) { return is_settled(trial.state); });
}

}  // namespace

bool is_settled(lifecycle::State state) {
    return lifecycle::is_terminal(state) || state == lifecycle::State::interrupted;
}

ExperimentPoller::ExperimentPoller(RootLayout root, ExperimentId id, Context& context)
    : history_(std::move(root)),
      id_(id),
      context_(context),
      asked_(context.clock.steady_now() - queue_interval) {}

Result<tracker::history::ExperimentView> ExperimentPoller::poll() {
    for (;;) {
        DET_TRY_ASSIGN(auto record, history_.load_experiment(id_));
        auto const now = context_.clock.steady_now();
        bool const fresh = now - asked_ >= queue_interval;
        if (fresh) {
            queue_ = query_queue({record}, context_);
            asked_ = now;
        }
        auto view = view_experiment(std::move(record), queue_);
        // The journals may have new records since the queue was read.
        if (fresh || !has_settled_part(view)) return view;
        asked_ = now - queue_interval;
    }
}

void ExperimentPoller::wait() { context_.clock.sleep_for(poll_interval); }

}  // namespace det::experiment
