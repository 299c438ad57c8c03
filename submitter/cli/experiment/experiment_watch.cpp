#include "experiment/experiment_watch.hpp"

#include <algorithm>

#include "output/views.hpp"

namespace det::cli {
namespace {

using namespace std::chrono_literals;

// slurmctld is asked rarely, the journals often: a glance at them costs it nothing.
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

ExperimentWatch::ExperimentWatch(RootLayout root, ExperimentId id, Session& session)
    : history_(std::move(root)),
      id_(id),
      session_(session),
      asked_(session.clock.steady_now() - queue_interval) {}

Result<tracker::history::ExperimentView> ExperimentWatch::look() {
    for (;;) {
        DET_TRY_ASSIGN(auto record, history_.load_experiment(id_));
        auto const now = session_.clock.steady_now();
        bool const fresh = now - asked_ >= queue_interval;
        if (fresh) {
            queue_ = look_at_queue({record}, session_);
            asked_ = now;
        }
        auto view = view_experiment(std::move(record), queue_);
        // The journals may have gone on since the queue was read.
        if (fresh || !has_settled_part(view)) return view;
        asked_ = now - queue_interval;
    }
}

void ExperimentWatch::pause() { session_.clock.sleep_for(poll_interval); }

}  // namespace det::cli
