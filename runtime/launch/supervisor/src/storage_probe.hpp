#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

namespace det::launch::supervisor {

/// Finds out whether the shared file system answers, or can be written. A thread tries that, so that a file
/// system that does not answer blocks nothing else. Not thread-safe.
class StorageProbe {
public:
    /// Opens a file to read it. An error is an answer too.
    static StorageProbe of_reading(std::filesystem::path file);
    /// Writes a small file into a directory and removes it.
    static StorageProbe of_writing(std::filesystem::path directory);

    /// The same, where an error is an answer too.
    static StorageProbe of_answers(std::filesystem::path directory);

    /// Waits for the answer, at most `limit`. If it comes later, the next call waits for the same attempt.
    /// \return whether the attempt has succeeded in time
    bool ask(std::chrono::milliseconds limit);

private:
    struct State;

    explicit StorageProbe(std::function<bool()> attempt) : attempt_(std::move(attempt)) {}

    std::function<bool()> attempt_;
    std::shared_ptr<State> running_;
};

}  // namespace det::launch::supervisor
