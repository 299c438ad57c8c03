#include <det/experiment/context.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/polling.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/http/server.hpp>
#include <det/tracker/ingest/live_index.hpp>
#include <det/tracker/web/page_routes.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "arguments.hpp"
#include "command.hpp"
#include "tracker/api/api.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

using SteadyClock = std::chrono::steady_clock;

/// The file that says where the tracker listens, as long as it runs.
class StateFile {
public:
    static Result<StateFile> write(client::TrackerPaths const& paths, client::TrackerState const& state) {
        DET_TRY(write_secret_file(paths.state(), client::render_state(state)));
        return StateFile(paths.state());
    }
    StateFile(StateFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    StateFile& operator=(StateFile&&) = delete;
    ~StateFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }

private:
    explicit StateFile(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

/// Answers the requests that wait for changes when the index changes.
class ChangeListener {
public:
    ChangeListener(ingest::LiveIndex& index, api::Api& routes) : index_(index) {
        index_.set_listener([&routes] { routes.on_change(); });
    }
    ~ChangeListener() { index_.set_listener({}); }
    ChangeListener(ChangeListener const&) = delete;

private:
    ingest::LiveIndex& index_;
};

Error runs_already(client::TrackerPaths const& paths) {
    return Error{
        codes::name_taken,
        fmt::format("a tracker of this root runs on this host already, at '{}'", paths.socket().string()),
        "see 'det-tracker status'; 'det-tracker stop' stops it"};
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

class TrackerServe final : public Command {
public:
    std::vector<Option> options() override {
        return {{"--port",
                 &port_,
                 "listen at this TCP port of the loopback addresses too; 0: any free one",
                 Need::optional,
                 {},
                 std::pair(0, 65535)},
                {"--host-name", &host_names_, "a name under which browsers reach it, beside localhost"},
                {"--actions", &actions_, "the page can pause, end and create experiments and move jobs"},
                {"--idle-limit", &idle_limit_, "end after this time without requests"},
                {"--ready-fd", &ready_fd_, "write 'ready' to this descriptor once requests are answered"}};
    }

    Outcome run(Session& session) override {
        ::signal(SIGPIPE, SIG_IGN);  // a client that closes its connection does not end the tracker
        auto served = serve(session);
        // `start` waits for one of these words.
        if (!served && ready_fd_) (void)write_all(*ready_fd_, "failed\n", "the pipe to the parent process");
        if (!served) return std::move(served).error();
        return ExitCode::done;
    }

private:
    Status serve(Session& session) {
        auto const idle_limit_s = parse_duration_s(idle_limit_);
        if (!idle_limit_s) {
            return Error{codes::usage, fmt::format("--idle-limit '{}' is not a time", idle_limit_),
                         "write it like 90s, 15m or 1h"};
        }
        if (ready_fd_) ::setsid();  // a process of `start` outlives the terminal
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        DET_TRY_ASSIGN(auto const lock, client::TrackerLock::try_take(tracker.paths));
        if (!lock) return runs_already(tracker.paths);
        DET_TRY_ASSIGN(auto const signals, SignalReader::open(signal_set({SIGTERM, SIGINT, SIGHUP})));

        bool const is_foreign = session.foreign_root.has_value();
        bool const allows_actions = actions_ && !is_foreign;
        client::TrackerState state{::getpid(), host_name(), tracker.root.path().string(),
                                   0,          {},          allows_actions};
        DET_TRY_ASSIGN(auto const history,
                       ingest::LiveIndex::open({.path = tracker.paths.index(), .root = tracker.root}));
        auto const started = session.clock.now();
        auto const home = session.environment.find("HOME").value_or("");
        auto environment = session.environment;
        environment.set("DET_ROOT", tracker.root.path().string());
        std::atomic<std::uint16_t> port = 0;  // known once the server has started
        api::Sources sources{*history,      tracker.root,  environment,
                             session.clock, session.slurm, session.cache};
        sources.foreign_root = session.foreign_root;
        auto const owner = session.foreign_root ? session.foreign_root->owner_name
                                                : experiment::user_name(session.environment);
        sources.change_number = [&] { return history->commit_number(); };
        sources.allows_actions = allows_actions;
        auto const user = experiment::user_name(session.environment);
        sources.describe_tracker = [&] {
            auto const problem = history->last_error();
            return JsonValue(Json{{"version", program_version()},
                                  {"index", tracker.paths.index().string()},
                                  {"commit_number", history->commit_number()},
                                  {"index_error", problem ? Json(problem->message) : Json(nullptr)},
                                  {"pid", state.pid},
                                  {"host", state.host},
                                  {"root", state.root},
                                  {"owner", owner},
                                  {"is_foreign", is_foreign},
                                  {"home", home},
                                  {"user", user},
                                  {"actions", allows_actions},
                                  {"port", port == 0 ? Json(nullptr) : Json(port.load())},
                                  {"started", format_utc(started)}});
        };
        api::Api routes(std::move(sources));
        ChangeListener const listener(*history, routes);
        http::ServerSettings settings;
        settings.unix_socket = tracker.paths.socket();
        settings.access.owner = ::geteuid();
        settings.access.host_names = host_names_;
        if (port_) settings.port = static_cast<std::uint16_t>(*port_);
        if (port_ || actions_) settings.access.token = make_uuid() + make_uuid();
        auto const token = settings.access.token;
        DET_TRY_ASSIGN(auto const server,
                       http::Server::start(std::move(settings), http::RouteTable(all_routes(routes))));
        state.port = server->port();
        state.token = token;
        port = server->port();
        DET_TRY_ASSIGN(auto const file, StateFile::write(tracker.paths, state));
        announce(state, tracker.paths, session);
        wait_for_end(signals, *server, std::chrono::duration<double>(*idle_limit_s));
        return Ok{};
    }

    /// The routes of the web page, and those of the API from which the page gets its data.
    static std::vector<http::Route> all_routes(api::Api& api) {
        auto routes = web::page_routes();
        for (auto& route : api.routes()) routes.push_back(std::move(route));
        return routes;
    }

    void announce(client::TrackerState const& state, client::TrackerPaths const& paths,
                  Session const& session) const {
        session.on_message(
            fmt::format("det-tracker: serving '{}' at '{}'", state.root, paths.socket().string()));
        if (state.port != 0) {
            session.on_message(fmt::format("det-tracker: and at http://localhost:{}, with the token in '{}'",
                                           state.port, paths.state().string()));
        }
        if (ready_fd_) {
            (void)write_all(*ready_fd_, "ready\n", "the pipe to the parent process");
            ::close(*ready_fd_);
        }
    }

    /// Returns after a signal, or when the server has been idle for `idle_limit`.
    static void wait_for_end(SignalReader const& signals, http::Server const& server,
                             std::chrono::duration<double> idle_limit) {
        auto const limit = std::chrono::duration_cast<SteadyClock::duration>(idle_limit);
        for (;;) {
            auto const now = SteadyClock::now();
            auto const idle_since = server.idle_since();
            if (idle_since && now >= *idle_since + limit) return;
            pollfd query{signals.fd(), POLLIN, 0};
            auto const ready = ::poll(&query, 1, poll_timeout_ms(idle_since.value_or(now) + limit, now));
            if (ready > 0 || (ready < 0 && errno != EINTR)) return;
        }
    }

    std::optional<int> port_;
    std::vector<std::string> host_names_;
    std::string idle_limit_ = "1h";
    std::optional<int> ready_fd_;
    bool actions_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tracker_serve() { return std::make_unique<TrackerServe>(); }

}  // namespace det::cli
