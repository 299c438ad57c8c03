#include "storage_probe.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/start_thread.hpp>

#include <condition_variable>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

/// Writes one block and syncs it, because some file systems report a full disk only then.
bool can_write(std::filesystem::path const& file) {
    UniqueFd const fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    bool const is_written =
        fd && write_all(fd.get(), std::string(4096, 'x'), file.string()) && ::fsync(fd.get()) == 0;
    ::unlink(file.c_str());
    return is_written;
}

}  // namespace

struct StorageProbe::State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<bool> has_succeeded;
};

StorageProbe StorageProbe::of_reading(std::filesystem::path file) {
    return StorageProbe([file = std::move(file)] {
        UniqueFd const fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        return true;
    });
}

StorageProbe StorageProbe::of_writing(std::filesystem::path directory) {
    return StorageProbe(
        [file = directory / fmt::format(".probe-{}", ::getpid())] { return can_write(file); });
}

StorageProbe StorageProbe::of_answers(std::filesystem::path directory) {
    return StorageProbe([file = directory / fmt::format(".answer-{}", ::getpid())] {
        (void)can_write(file);
        return true;
    });
}

bool StorageProbe::ask(std::chrono::milliseconds limit) {
    if (!running_) {
        running_ = std::make_shared<State>();
        // Detached: the thread may be blocked for as long as the file system does not answer.
        start_thread("det-probe", [state = running_, attempt = attempt_](std::stop_token const&) {
            bool const has_succeeded = attempt();
            std::scoped_lock const lock(state->mutex);
            state->has_succeeded = has_succeeded;
            state->changed.notify_all();
        }).detach();
    }
    auto const state = running_;
    std::unique_lock lock(state->mutex);
    if (!state->changed.wait_for(lock, limit, [&] { return state->has_succeeded.has_value(); })) return false;
    running_.reset();
    return *state->has_succeeded;
}

}  // namespace det::launch::supervisor
