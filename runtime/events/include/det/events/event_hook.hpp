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

// The events; SLURM_KEYS.md says when each happens.
inline constexpr std::string_view submitted = "submitted";
inline constexpr std::string_view started = "started";
inline constexpr std::string_view preempted = "preempted";
inline constexpr std::string_view paused = "paused";
inline constexpr std::string_view failed = "failed";
inline constexpr std::string_view canceled = "canceled";
inline constexpr std::string_view completed = "completed";

/// Runs the command of slurm.event_hook for each event, with the event as a JSON object on its standard
/// input. The commands run beside the caller, in no order. A command that fails or takes too long is
/// logged and has no other effect. Thread safety: notify() and wait() are called by one thread.
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
    /// run, first waits for the oldest one, which takes at most its time limit.
    /// \param event one of those above
    /// \param body what is known about it; the experiment and its webhooks are added
    void notify(std::string_view event, JsonValue const& body);
    /// Returns when all commands have ended, and logs those that failed.
    void wait();

private:
    static constexpr std::size_t commands_max = 16;

    void run(std::string const& event, std::string const& text);
    void log_failures();

    std::string command_;
    JsonValue about_;  // the members of every event
    Environment environment_;
    Log log_;
    std::chrono::milliseconds limit_;
    std::mutex mutex_;
    std::vector<std::string> failures_;  // guarded by mutex_
    std::list<std::jthread> running_;
};

}  // namespace det::events
