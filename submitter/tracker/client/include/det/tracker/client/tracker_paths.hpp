#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/document.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace det::tracker::client {

/// The files of the tracker of one root, in two directories of this host that only this user can enter: one
/// for the session, and one for the index. There is one tracker for each user, host, runtime directory and
/// spelling of the root's path: symbolic links in it are not resolved.
struct TrackerPaths {
    std::filesystem::path directory;
    std::filesystem::path index_directory;
    std::string name;  // "tracker-" and a checksum of the root's normalized path

    std::filesystem::path socket() const { return directory / (name + ".sock"); }
    std::filesystem::path lock() const { return directory / (name + ".lock"); }
    std::filesystem::path state() const { return directory / (name + ".json"); }
    std::filesystem::path index() const { return index_directory / (name + ".index"); }
    std::filesystem::path log() const { return directory / (name + ".log"); }
    /// Sends a browser to the tracker's page, with the token.
    std::filesystem::path entry_page() const { return directory / (name + ".html"); }
};

/// The directory is `det` in XDG_RUNTIME_DIR, else in /run/user/UID, if these are private directories of this
/// user; else /tmp/det-UID, or if another user has taken this name, /tmp/det-tracker-UID-TIME-RANDOM. The
/// directory is created if it does not exist. codes::unsafe_owner if it is not a directory of this user with
/// mode 0700. The index, which may be large and shall survive a restart of the host, is in DET_INDEX_DIR,
/// else in /var/tmp/det-UID, with the same rules.
Result<TrackerPaths> make_tracker_paths(Environment const& environment, RootLayout const& root);

/// What a running tracker has written about itself. The file is readable by its user only, because of the
/// token.
struct TrackerState {
    pid_t pid = 0;
    std::string host;
    std::string root;
    std::uint16_t port = 0;  // 0: it listens at the unix socket only
    std::string token;       // for the port and for actions
    bool allows_actions = false;
};

std::string render_state(TrackerState const& state);
Result<TrackerState> parse_state(std::string_view text);
/// nullopt if the file does not exist.
Result<std::optional<TrackerState>> find_state(TrackerPaths const& paths);

/// The lock that a tracker holds as long as it runs.
class TrackerLock {
public:
    /// Takes the lock; nullopt if another process holds it.
    static Result<std::optional<TrackerLock>> try_take(TrackerPaths const& paths);

private:
    explicit TrackerLock(UniqueFd file) : file_(std::move(file)) {}
    UniqueFd file_;
};

}  // namespace det::tracker::client
