#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/client/tracker_paths.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::tracker::client {
namespace {

bool is_private(std::filesystem::path const& directory) {
    struct stat found {};
    return ::lstat(directory.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
           (found.st_mode & 0777) == 0700;
}

/// The directory with the lowest name of those that belong to this user and begin with the prefix.
std::optional<std::filesystem::path> find_own_directory(std::filesystem::path const& base,
                                                        std::string const& prefix) {
    auto names = list_directory(base);
    if (!names) return std::nullopt;
    std::ranges::sort(*names);
    for (auto const& name : *names) {
        if (name.starts_with(prefix) && is_private(base / name)) return base / name;
    }
    return std::nullopt;
}

/// BASE/det-UID, or if another user has taken this name, a directory with a random name. Every process of
/// this user finds it by its owner: in a directory with the sticky bit no other user can make or rename one
/// that belongs to this user. Two processes that make one at the same time then use that with the lower name,
/// which begins with the time.
std::filesystem::path choose_directory_in(std::filesystem::path const& base) {
    auto const usual = base / fmt::format("det-{}", ::geteuid());
    struct stat found {};
    if (::lstat(usual.c_str(), &found) != 0 || found.st_uid == ::geteuid()) return usual;
    auto const prefix = fmt::format("det-tracker-{}-", ::geteuid());
    if (auto own = find_own_directory(base, prefix)) return *std::move(own);
    auto const time = SystemClock().now().microseconds;
    auto const made = base / fmt::format("{}{:020}-{}", prefix, time, make_uuid());
    if (!make_directory(made, 0700)) return usual;  // its error names the taken directory
    return find_own_directory(base, prefix).value_or(made);
}

std::filesystem::path choose_directory(Environment const& environment) {
    if (auto const named = environment.find_non_empty("XDG_RUNTIME_DIR"); named && is_private(*named))
        return std::filesystem::path(*named) / "det";
    std::filesystem::path const of_login = fmt::format("/run/user/{}", ::geteuid());
    if (is_private(of_login)) return of_login / "det";
    return choose_directory_in("/tmp");
}

std::filesystem::path choose_index_directory(Environment const& environment) {
    if (auto const named = environment.find_non_empty("DET_INDEX_DIR")) return *named;
    return choose_directory_in("/var/tmp");
}

Status require_private_directory(std::filesystem::path const& directory, std::string_view variable) {
    DET_TRY(make_directory(directory, 0700));
    if (is_private(directory)) return Ok{};
    return Error{codes::unsafe_owner,
                 fmt::format("'{}' is not a directory of yours with mode 0700", directory.string()),
                 fmt::format("set {} to a directory of yours on this host", variable)};
}

}  // namespace

Result<TrackerPaths> make_tracker_paths(Environment const& environment, RootLayout const& root) {
    auto const directory = choose_directory(environment);
    DET_TRY(require_private_directory(directory, "XDG_RUNTIME_DIR"));
    auto const index_directory = choose_index_directory(environment);
    DET_TRY(require_private_directory(index_directory, "DET_INDEX_DIR"));
    Sha256 sha;
    sha.update(root.path().lexically_normal().string());
    auto const checksum = sha.finish();
    return TrackerPaths{directory, index_directory, "tracker-" + checksum.substr(0, 12)};
}

std::string render_state(TrackerState const& state) {
    return to_line(Json{{"pid", state.pid},
                        {"host", state.host},
                        {"root", state.root},
                        {"port", state.port},
                        {"token", state.token},
                        {"actions", state.allows_actions}}) +
           "\n";
}

Result<TrackerState> parse_state(std::string_view text) {
    return decode_json("the state of the tracker", [&] {
        auto const json = parse_json(text);
        return TrackerState{json.at("pid").get<pid_t>(),         json.at("host").get<std::string>(),
                            json.at("root").get<std::string>(),  json.at("port").get<std::uint16_t>(),
                            json.at("token").get<std::string>(), json.value("actions", false)};
    });
}

Result<std::optional<TrackerState>> find_state(TrackerPaths const& paths) {
    auto const text = read_file(paths.state());
    if (!text && text.error().code == codes::no_such_file) return std::optional<TrackerState>();
    if (!text) return text.error();
    DET_TRY_ASSIGN(auto state, parse_state(*text));
    return std::optional(std::move(state));
}

Result<std::optional<TrackerLock>> TrackerLock::try_take(TrackerPaths const& paths) {
    UniqueFd file(::open(paths.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return os_error(fmt::format("open '{}'", paths.lock().string()), errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return std::optional(TrackerLock(std::move(file)));
    if (errno == EWOULDBLOCK) return std::optional<TrackerLock>();
    return os_error(fmt::format("lock '{}'", paths.lock().string()), errno);
}

}  // namespace det::tracker::client
