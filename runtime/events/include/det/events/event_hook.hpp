#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace det::events {

// Names of the events. SLURM_KEYS.md says when each of them happens.
inline constexpr std::string_view submitted = "submitted";
inline constexpr std::string_view started = "started";
inline constexpr std::string_view preempted = "preempted";
inline constexpr std::string_view paused = "paused";
inline constexpr std::string_view failed = "failed";
inline constexpr std::string_view canceled = "canceled";
inline constexpr std::string_view completed = "completed";
inline constexpr std::string_view idle = "idle";

/// Runs the command of slurm.event_hook for each event, with the event as a JSON object on its standard
/// input. The commands run in the background, possibly several at a time. If a command fails or exceeds the
/// time limit, the hook logs that and goes on. notify() and wait() must be called by the same thread.
class EventHook {
public:
    using Log = std::function<void(std::string const&)>;
    static constexpr std::chrono::milliseconds default_limit = std::chrono::seconds(10);

    EventHook(ExperimentSpec const& spec, Environment environment, Log log,
              std::chrono::milliseconds limit = default_limit);
    ~EventHook() { wait(); }
    EventHook(EventHook const&) = delete;
    EventHook& operator=(EventHook const&) = delete;

    /// Starts the command and returns. Does nothing if the experiment has no hook. If commands_max commands
    /// are running, first waits for the oldest of them, at most until its time limit.
    /// \param event one of the names above
    /// \param body further members of the JSON object
    void notify(std::string_view event, JsonValue const& body);
    /// Returns when all commands have ended, and logs those that failed.
    void wait();

private:
    static constexpr std::size_t commands_max = 16;

    void run(std::string const& event, std::string const& text);
    void log_failures();

    std::string command_;
    JsonValue about_;  // members of the JSON object of every event
    Environment environment_;
    Log log_;
    std::chrono::milliseconds limit_;
    std::mutex mutex_;
    std::vector<std::string> failures_;  // guarded by mutex_
    std::list<std::jthread> running_;
};

}  // namespace det::events
