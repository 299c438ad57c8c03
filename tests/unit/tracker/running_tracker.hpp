#pragma once
#include <det/foundation/clock.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/http/client.hpp>
#include <det/tracker/http/server.hpp>

#include <atomic>
#include <unistd.h>

#include "check_result.hpp"
#include "fake_slurm.hpp"
#include "temporary_directory.hpp"
#include "tracker/api/api.hpp"

namespace det::tracker {

/// A tracker that reads the journals of a root, in this process.
struct RunningTracker {
    TemporaryDirectory directory;
    TemporaryDirectory socket_directory;
    RootLayout root{directory.path()};
    history::JournalHistory journals{root};
    SystemClock clock;
    FakeSlurm slurm;
    std::atomic<std::int64_t> changes = 1;
    std::chrono::milliseconds answer_age_max{0};
    api::Api api{sources()};
    std::unique_ptr<http::Server> server = start();

    api::Sources sources() {
        Environment environment;
        environment.set("DET_ROOT", directory.path().string());
        api::Sources sources{journals, root, environment, clock, slurm, {}, [this] { return changes.load(); },
                             {}};
        sources.answer_age_max = answer_age_max;
        sources.slurm_age_max = answer_age_max;
        return sources;
    }
    std::unique_ptr<http::Server> start() {
        http::ServerSettings settings;
        settings.unix_socket = socket_directory / "s";
        settings.port = 0;
        settings.access.owner = ::geteuid();
        settings.access.token = "secret";
        return must(http::Server::start(settings, http::RouteTable(api.routes())));
    }
    std::unique_ptr<http::Client> client() const {
        return http::Client::make(http::UnixEndpoint{socket_directory / "s"});
    }
};

}  // namespace det::tracker
