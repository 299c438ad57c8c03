#include <det/foundation/polling.hpp>
#include <det/foundation/spawn.hpp>
#include <det/protocol/json.hpp>

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

using namespace std::chrono_literals;

class TrackerStop final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        DET_TRY_ASSIGN(auto const state, client::find_state(tracker.paths));
        auto const process = state ? open_pidfd(state->pid) : UniqueFd();
        // The pid in the state file is that of a running tracker only while the lock is held.
        DET_TRY_ASSIGN(auto const lock, client::TrackerLock::try_take(tracker.paths));
        if (lock) {
            session.answer(Json{{"stopped", false}}, "no tracker runs\n");
            return ExitCode::done;
        }
        if (!process || !send_signal(process, state->pid, SIGTERM))
            return os_error("signal the tracker", errno);
        pollfd query{process.get(), POLLIN, 0};
        constexpr auto time_limit = 30s;
        auto const now = std::chrono::steady_clock::now();
        if (::poll(&query, 1, poll_timeout_ms(now + time_limit, now)) <= 0) {
            return Error{codes::timed_out, fmt::format("process {} did not end in 30 s", state->pid),
                         fmt::format("end it with 'kill -9 {}'", state->pid)};
        }
        session.answer(Json{{"stopped", true}, {"pid", state->pid}}, "stopped\n");
        return ExitCode::done;
    }
};

}  // namespace

std::unique_ptr<Command> make_tracker_stop() { return std::make_unique<TrackerStop>(); }

}  // namespace det::cli
