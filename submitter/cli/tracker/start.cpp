#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// Reads a line, or until the end of the pipe; nullopt at the deadline.
std::optional<std::string> read_until(int fd, SteadyClock::time_point deadline) {
    std::string text;
    for (;;) {
        pollfd query{fd, POLLIN, 0};
        auto const ready = ::poll(&query, 1, poll_timeout_ms(deadline, SteadyClock::now()));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return std::nullopt;
        char buffer[64];
        auto const size = ::read(fd, buffer, sizeof buffer);
        if (size <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(size));
        if (text.ends_with('\n')) return text;
    }
}

class TrackerStart final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--port",
                 &port_,
                 "listen at this TCP port of the loopback addresses too; 0: any free one",
                 Need::optional,
                 {},
                 std::pair(0, 65535)},
                {"--host-name", &host_names_, "a name under which browsers reach it, beside localhost"},
                {"--actions", &actions_, "its page can pause, end and create experiments and move jobs"},
                {"--idle-limit", &idle_limit_, "end after this time without requests"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        auto client = client::find_tracker(tracker.paths);
        bool const ran_before = client != nullptr;
        if (!ran_before) {
            DET_TRY(launch(tracker, session));
            client = client::find_tracker(tracker.paths);
        }
        if (!client) return Error{codes::process, "the tracker started and does not answer"};
        session.answer(
            Json{{"started", !ran_before}, {"socket", tracker.paths.socket().string()}},
            fmt::format("{} at '{}'\n", ran_before ? "a tracker runs already" : "the tracker listens",
                        tracker.paths.socket().string()));
        return ExitCode::done;
    }

private:
    static constexpr int ready_fd = 3;
    static constexpr auto time_limit = 15s;

    Status launch(Tracker const& tracker, Session const& session) const {
        auto const deadline = SteadyClock::now() + time_limit;
        UniqueFd log(
            ::open(tracker.paths.log().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!log) return os_error(fmt::format("write '{}'", tracker.paths.log().string()), errno);
        DET_TRY_ASSIGN(auto ready, make_pipe());
        SpawnSettings settings;
        settings.without_input();
        settings.connect(log, STDOUT_FILENO);
        settings.connect(log, STDERR_FILENO);
        settings.connect(ready.write_end, ready_fd);
        std::vector<std::string> argv{own_executable().string(),   "tracker",      "serve",     "--ready-fd",
                                      std::to_string(ready_fd),    "--idle-limit", idle_limit_, "--root",
                                      tracker.root.path().string()};
        for (auto const& name : host_names_) argv.insert(argv.end(), {"--host-name", name});
        if (actions_) argv.emplace_back("--actions");
        if (port_) argv.insert(argv.end(), {"--port", std::to_string(*port_)});
        DET_TRY(spawn(argv, session.environment, settings));
        ready.write_end.reset();
        auto const word = read_until(ready.read_end.get(), deadline);
        if (word == "ready\n") return Ok{};
        if (!word) return Error{codes::timed_out, "the tracker did not get ready in time", log_hint(tracker)};
        // Another process may have started a tracker at the same time. That tracker holds the lock until it
        // ends.
        while (SteadyClock::now() < deadline) {
            if (client::find_tracker(tracker.paths)) return Ok{};
            DET_TRY_ASSIGN(auto const lock, client::TrackerLock::try_take(tracker.paths));
            if (lock) break;
            session.clock.sleep_for(20ms);
        }
        auto const text = read_file(tracker.paths.log());
        return Error{
            codes::process,
            fmt::format("the tracker did not start: {}", text ? escape_control(trim(*text)) : "no output"),
            log_hint(tracker)};
    }

    static std::string log_hint(Tracker const& tracker) {
        return fmt::format("see '{}'", tracker.paths.log().string());
    }

    std::optional<int> port_;
    std::vector<std::string> host_names_;
    std::string idle_limit_ = "1h";
    bool actions_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tracker_start() { return std::make_unique<TrackerStart>(); }

}  // namespace det::cli
