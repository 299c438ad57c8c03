#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

namespace det::launch::supervisor {

/// Finds out whether a directory of the shared file system can be written: it writes a small file and removes
/// it. A thread does that, so that a file system that does not answer blocks nothing else. Not thread-safe.
class StorageProbe {
public:
    enum class Answer { writable, not_writable };

    explicit StorageProbe(std::filesystem::path directory) : directory_(std::move(directory)) {}

    /// Waits for the answer, at most `limit`. Later means not_writable, and the same write is awaited by the
    /// next call.
    Answer ask(std::chrono::milliseconds limit);

private:
    struct State;

    std::filesystem::path directory_;
    std::shared_ptr<State> running_;
};

}  // namespace det::launch::supervisor
