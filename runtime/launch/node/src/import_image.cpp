#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/node/import_image.hpp>

#include <condition_variable>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

/// Whether the file is there, new enough, and trusted.
Result<bool> is_usable(ImageImport const& import) {
    std::error_code failure;
    auto const written = fs::last_write_time(import.file, failure);
    if (failure) return false;
    if (import.not_before && written < *import.not_before) return false;
    struct ::stat facts {};
    if (::lstat(import.file.c_str(), &facts) != 0) return false;
    bool const is_own = facts.st_uid == ::geteuid() || facts.st_uid == 0;
    if (S_ISREG(facts.st_mode) && is_own && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
    return Error{
        codes::unsafe_owner,
        fmt::format("the image '{}' is not a file that only you or root can write", import.file.string()),
        "remove it, or let image_directory of the site file have %u in it"};
}

/// The directory by which one process says that it makes the file.
class ImportLock {
public:
    explicit ImportLock(ImageImport const& import) : import_(import), path_(import.file.string() + ".lock") {}

    Result<bool> try_take() { return make_directory(path_, 0700); }

    /// Removes the lock of a process that has not renewed it. Of several processes one succeeds. The times
    /// are those of the file server: a new file in the same directory says what time it is there.
    Status remove_if_old() const {
        auto const probe = fs::path(import_.file.string() + ".time-" + make_uuid());
        DET_TRY(write_file(probe, ""));
        std::error_code failure, ignored;
        auto const now = fs::last_write_time(probe, failure);
        auto const renewed = failure ? now : fs::last_write_time(path_, failure);
        fs::remove(probe, ignored);
        // After a failure the lock has just been released.
        if (failure || now - renewed < import_.lock_timeout) return Ok{};
        auto const aside = fs::path(path_.string() + "-" + make_uuid());
        fs::rename(path_, aside, failure);
        if (failure && failure != std::errc::no_such_file_or_directory)
            return os_error(fmt::format("remove the old lock '{}'", path_.string()), failure.value());
        fs::remove(aside, ignored);
        return Ok{};
    }

    void renew() const {
        // Without times the file server sets its own.
        (void)::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
    }

    void release() const {
        std::error_code failure;
        fs::remove(path_, failure);
    }

private:
    ImageImport const& import_;
    fs::path path_;
};

/// Renews the lock while the command runs.
class LockRenewal {
public:
    LockRenewal(ImportLock const& lock, std::chrono::milliseconds interval)
        : thread_([this, &lock, interval](std::stop_token const& stop) {
              std::unique_lock guard(mutex_);
              while (!stop.stop_requested()) {
                  (void)wake_.wait_for(guard, stop, interval, [] { return false; });
                  lock.renew();
              }
          }) {}

private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;
};

std::string_view last_line(std::string_view text) {
    text = trim(text);
    return text.substr(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
}

/// Makes the file under another name first, so that no process reads an unfinished file. The suffix stays,
/// because runtimes read the kind of file from it.
Status make_file(ImageImport const& import, ProcessRunner& runner) {
    auto const part = import.file.parent_path() / fmt::format(".{}-{}{}", import.file.stem().string(),
                                                              make_uuid(), import.file.extension().string());
    Command const command{import.command(part), import.environment, import.command_timeout};
    import.log(fmt::format("importing the image: {}", join(command.argv, " ")));
    auto const done = runner.run(command);
    std::error_code failure;
    if (!done || done->exit_code != 0) {
        fs::remove_all(part, failure);
        if (!done) return done.error();
        return Error{codes::process, fmt::format("'{}' ended with {}: {}", command.argv.front(),
                                                 done->exit_code, last_line(done->err))};
    }
    fs::permissions(part, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove,
                    failure);
    fs::rename(part, import.file, failure);
    if (failure) return os_error(fmt::format("rename '{}'", part.string()), failure.value());
    return Ok{};
}

}  // namespace

Result<fs::path> import_image(ImageImport const& import, ProcessRunner& runner) {
    DET_TRY(make_directories(import.file.parent_path()));
    ImportLock lock(import);
    bool has_waited = false;
    for (;;) {
        DET_TRY_ASSIGN(bool const is_there, is_usable(import));
        if (is_there) return import.file;
        DET_TRY_ASSIGN(bool const is_ours, lock.try_take());
        if (is_ours) break;
        if (!has_waited) import.log(fmt::format("waiting for '{}'", import.file.string()));
        has_waited = true;
        std::this_thread::sleep_for(import.poll_interval);
        DET_TRY(lock.remove_if_old());
    }
    Status made = Ok{};
    {
        LockRenewal const renewal(lock, import.renewal_interval);
        // Another process may have made it between is_usable() and try_take().
        auto const is_there = is_usable(import);
        if (!is_there || !*is_there) made = make_file(import, runner);
    }
    lock.release();
    DET_TRY(made);
    return import.file;
}

}  // namespace det::launch::node
