#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "storage_probe.hpp"

namespace det::launch::supervisor {

/// Exists while the supervisor's thread reads and writes files at the beginning or end of a run, and may
/// wait for the shared file system. From its third second on, a thread writes a small file again and again.
/// An error is an answer; work that takes long is no reason to end it.
class StorageWatch {
public:
    struct Settings {
        std::filesystem::path directory;  // where the small file is written
        std::chrono::milliseconds limit;  // without an answer
        /// Steps of other trials, as descriptors that are readable when the step has ended. While one runs,
        /// on_silence is not called.
        std::vector<UniqueFd> steps;
        std::function<void()> on_delay;    // called once if steps still run after the limit
        std::function<void()> on_silence;  // called once after the limit
    };

    /// Both functions are called on the thread.
    explicit StorageWatch(Settings settings);
    StorageWatch(StorageWatch const&) = delete;
    StorageWatch& operator=(StorageWatch const&) = delete;
    ~StorageWatch();

private:
    using Time = std::chrono::steady_clock::time_point;

    void run(std::stop_token const& stop);
    /// Returns false if it was stopped before.
    bool wait_until(std::stop_token const& stop, Time time);
    bool any_step_runs() const;

    Settings settings_;
    StorageProbe probe_;
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread thread_;  // declared last: it uses the other members
};

}  // namespace det::launch::supervisor
