#include <det/foundation/text.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>

#include <fmt/format.h>

namespace det::tracker::client {

std::unique_ptr<http::Client> find_tracker(TrackerPaths const& paths, http::ClientLimits const& limits) {
    auto client = http::Client::make(http::UnixEndpoint{paths.socket()}, limits);
    return client->get("/v1/tracker") ? std::move(client) : nullptr;
}

Result<std::unique_ptr<http::Client>> find_or_start_tracker(Environment const& environment,
                                                            RootLayout const& root,
                                                            StartSettings const& settings,
                                                            ProcessRunner& runner) {
    DET_TRY_ASSIGN(auto const paths, make_tracker_paths(environment, root));
    auto port = settings.port;
    if (settings.needs_actions) {
        DET_TRY_ASSIGN(auto const state, find_state(paths));
        if (state && !state->allows_actions) {
            std::vector<std::string> stop{settings.program.string(), "tracker", "stop", "--root",
                                          root.path().string()};
            DET_TRY_ASSIGN(auto const stopped, runner.run({std::move(stop), environment, settings.timeout}));
            if (stopped.exit_code != 0)
                return Error{codes::process, fmt::format("the tracker without actions did not stop: {}",
                                                         escape_control(trim(stopped.err)))};
            if (port.value_or(0) == 0 && state->port != 0) port = state->port;
        }
    }
    if (auto client = find_tracker(paths)) return Result<std::unique_ptr<http::Client>>(std::move(client));
    std::vector<std::string> argv{settings.program.string(), "tracker", "start", "--root",
                                  root.path().string()};
    if (settings.needs_actions) argv.emplace_back("--actions");
    if (port) argv.insert(argv.end(), {"--port", std::to_string(*port)});
    DET_TRY_ASSIGN(auto const output, runner.run({std::move(argv), environment, settings.timeout}));
    if (auto client = find_tracker(paths)) return Result<std::unique_ptr<http::Client>>(std::move(client));
    return Error{codes::process,
                 fmt::format("the tracker did not start: {}", escape_control(trim(output.err))),
                 fmt::format("see '{}'", paths.log().string())};
}

}  // namespace det::tracker::client
