#pragma once
#include <det/experiment/context.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/environment.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/document.hpp>
#include <det/slurm/client.hpp>
#include <det/tracker/history/history.hpp>
#include <det/tracker/http/routes.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

namespace det::tracker::api {

/// What the routes read from. Several threads call the History and the functions at the same time.
struct Sources {
    history::History& history;
    RootLayout root;
    Environment environment;  // of det-submit's commands, with DET_ROOT
    Clock& clock;
    slurm::SlurmClient& slurm;         // used by one thread at a time
    std::filesystem::path cache = {};  // as in experiment::Context
    /// A number that changes whenever something is recorded. Empty: the number is always 0.
    std::function<std::int64_t()> change_number = {};
    std::function<JsonValue()> describe_tracker = {};  // the answer to GET /v1/tracker
    /// Interval at which waiting requests are also checked without on_change(), which does not report new
    /// lines of logs.
    std::chrono::milliseconds check_interval{500};
    /// How old an answer may be that several viewers share, if nothing was recorded since. 0: none is shared.
    std::chrono::milliseconds answer_age_max{1000};
    /// How old an answer of Slurm may be.
    std::chrono::milliseconds slurm_age_max{3000};
    bool allows_actions = false;  // whether there are routes that change something
    /// As in experiment::Context: `root`, if another user has it.
    std::optional<experiment::ForeignRoot> foreign_root = {};
};

/// The routes of the tracker's HTTP interface. They only read, except those of actions. API.md describes
/// them.
class Api {
public:
    explicit Api(Sources sources);
    ~Api();
    Api(Api const&) = delete;
    Api& operator=(Api const&) = delete;

    /// The handlers refer to this object.
    std::vector<http::Route> routes();
    /// Checks the waiting requests and answers those for which something has changed. Thread-safe.
    void on_change();

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace det::tracker::api
