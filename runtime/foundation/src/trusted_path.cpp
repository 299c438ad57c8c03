#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_path.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/xattr.h>

namespace det {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 40;  // as the kernel's limit for one path

/// What the last component of a path must be.
enum class Last { anything, trusted, private_directory };

/// A directory is the same one if device and inode are the same, whatever path leads to it.
struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(FileId const&, FileId const&) = default;
};

FileId id_of(struct stat const& info) { return {info.st_dev, info.st_ino}; }

/// Whether the file may have an ACL. getxattr(2) refuses a descriptor of O_PATH, but not its name in /proc.
/// Without /proc it can't be known.
bool may_have_acl(int descriptor) {
    auto const name = fmt::format("/proc/self/fd/{}", descriptor);
    return ::getxattr(name.c_str(), "system.posix_acl_access", nullptr, 0) >= 0 ||
           (errno != ENODATA && errno != EOPNOTSUPP);
}

bool is_listed_owner(struct stat const& info, TrustRules const& rules) {
    return std::ranges::find(rules.owners, info.st_uid) != rules.owners.end();
}

/// Follows one path from / and checks each component.
class PathWalk {
public:
    PathWalk(fs::path const& path, TrustRules const& rules, std::vector<FileId> const& listed, Last last)
        : path_(path), rules_(rules), listed_(listed), last_(last) {
        push(path.string());
    }

    Status run() {
        DET_TRY(enter_root());
        while (!left_.empty()) {
            auto const name = std::move(left_.back());
            left_.pop_back();
            if (name == "..") {
                if (reached_.size() > 1) reached_.pop_back();
                continue;
            }
            DET_TRY_ASSIGN(bool const exists, enter(name));
            if (!exists) return Ok{};
        }
        return Ok{};
    }

    /// The directory or file to which the path has led; nothing if it does not exist.
    std::optional<FileId> end() const { return end_; }

private:
    struct Directory {
        UniqueFd fd;
        fs::path path;
        bool is_shared;  // users that are not trusted can add and, unless it is sticky, replace entries
    };

    void push(std::string const& path) {
        auto const names = split(path, '/');
        for (auto name = names.rbegin(); name != names.rend(); ++name) {
            if (!name->empty() && *name != ".") left_.emplace_back(*name);
        }
    }

    Status enter_root() {
        reached_.clear();
        UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        struct stat info {};
        if (!root || ::fstat(root.get(), &info) != 0) return os_error("open '/'", errno);
        return arrive(std::move(root), "/", info);
    }

    /// Follows one name. Returns false if it does not exist.
    Result<bool> enter(std::string const& name) {
        auto const path = reached_.back().path / name;
        // O_DIRECTORY makes the kernel mount the file system of an automount point. O_PATH needs no read
        // permission.
        constexpr int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
        int const parent = reached_.back().fd.get();
        UniqueFd entry(::openat(parent, name.c_str(), flags | O_DIRECTORY));
        if (!entry && (errno == ENOTDIR || errno == ELOOP))
            entry = UniqueFd(::openat(parent, name.c_str(), flags));
        if (!entry && errno == ENOENT) {
            end_.reset();
            return false;
        }
        struct stat info {};
        if (!entry || ::fstat(entry.get(), &info) != 0)
            return os_error(fmt::format("check who can write '{}'", path.string()), errno);
        if (S_ISLNK(info.st_mode))
            DET_TRY(follow(entry, path, info));
        else
            DET_TRY(arrive(std::move(entry), path, info));
        return true;
    }

    /// Nobody can change where a link points. Who can write its directory can replace it, so that the owner
    /// counts only in a shared directory.
    Status follow(UniqueFd const& link, fs::path const& path, struct stat const& info) {
        if (reached_.back().is_shared && !is_own(info)) return belongs_to_another(path, info);
        if (++links_ > links_max) return os_error(fmt::format("follow '{}'", path.string()), ELOOP);
        char target[PATH_MAX];
        auto const size = ::readlinkat(link.get(), "", target, sizeof target);
        if (size <= 0) return os_error(fmt::format("read the link '{}'", path.string()), errno);
        std::string const text(target, static_cast<std::size_t>(size));
        push(text);
        if (text.front() != '/') return Ok{};
        return enter_root();
    }

    Status arrive(UniqueFd fd, fs::path path, struct stat const& info) {
        bool const is_last = left_.empty();
        bool const is_directory = S_ISDIR(info.st_mode);
        end_ = id_of(info);
        if (!is_directory && (!is_last || last_ == Last::private_directory))
            return Error{codes::not_a_directory, fmt::format("'{}' is not a directory", path.string())};
        if (is_last && last_ == Last::anything) {
            bool const is_in_shared = !reached_.empty() && reached_.back().is_shared;
            return is_in_shared && !is_own(info) ? Status(belongs_to_another(path, info)) : Ok{};
        }
        bool const is_listed = is_directory && std::ranges::find(listed_, *end_) != listed_.end();
        if (!has_trusted_owner(info, rules_) && !is_listed) return belongs_to_another(path, info);
        bool const is_shared = can_others_write(fd.get(), info, rules_);
        bool const may_be_sticky = !is_last || last_ != Last::private_directory;
        bool const is_sticky = is_directory && may_be_sticky && (info.st_mode & S_ISVTX) != 0;
        bool const only_group = is_listed && (info.st_mode & S_IWOTH) == 0;
        if (is_shared && !is_sticky && !only_group) return others_can_write(path, info);
        if (is_directory) reached_.push_back({std::move(fd), std::move(path), is_shared || is_listed});
        return Ok{};
    }

    /// What is in a shared directory must belong to the user, to root, or to an owner who is trusted like
    /// root.
    bool is_own(struct stat const& info) const {
        return info.st_uid == rules_.user || info.st_uid == 0 || is_listed_owner(info, rules_);
    }

    /// Where the component is: nothing if it is the checked path.
    std::string on_the_way(fs::path const& component) const {
        return component == path_ ? "" : fmt::format(", on the way to '{}'", path_.string());
    }

    Error belongs_to_another(fs::path const& component, struct stat const& info) const {
        return {
            codes::unsafe_owner,
            fmt::format("'{}' belongs to another user ({}){}", component.string(), describe_access(info),
                        on_the_way(component)),
            "use a directory whose path belongs to you or to root; the site file can list the directory of "
            "a project in trusted_ancestors"};
    }

    Error others_can_write(fs::path const& component, struct stat const& info) const {
        bool const is_group = (info.st_mode & S_IWOTH) == 0;
        auto const change = fmt::format("chmod {} '{}'", is_group ? "g-w" : "go-w", component.string());
        return {
            codes::unsafe_owner,
            fmt::format("{} can write into '{}' ({}){}: others could put their files in the place of yours",
                        is_group ? "its group" : "every user", component.string(), describe_access(info),
                        on_the_way(component)),
            component == path_ ? change
                               : change +
                                     ", or use a directory elsewhere; the site file can list the "
                                     "directory of a project in trusted_ancestors"};
    }

    fs::path const& path_;
    TrustRules const& rules_;
    std::vector<FileId> const& listed_;
    Last last_;
    std::vector<std::string> left_;   // names to follow, the next one last
    std::vector<Directory> reached_;  // from / to the current directory
    std::optional<FileId> end_;
    int links_ = 0;
};

/// Finds the directories of `trusted_ancestors`. The path to each is checked, or else a user could make it
/// lead to a directory of his own. A directory whose path is not trusted does not count. Shorter paths come
/// first, because a directory may be below another one of the list.
std::vector<FileId> find_listed(TrustRules const& rules) {
    auto paths = rules.trusted_ancestors;
    std::ranges::stable_sort(paths, {}, [](auto const& path) { return path.native().size(); });
    std::vector<FileId> found;
    for (auto const& path : paths) {
        PathWalk walk(path, rules, found, Last::anything);
        if (path.is_absolute() && walk.run() && walk.end()) found.push_back(*walk.end());
    }
    return found;
}

Status check(fs::path const& path, TrustRules const& rules, Last last) {
    std::error_code failure;
    auto const absolute = fs::absolute(path, failure);
    if (failure) return os_error("find the current directory", failure.value());
    auto const listed = find_listed(rules);
    return PathWalk(absolute, rules, listed, last).run();
}

}  // namespace

bool has_trusted_owner(struct stat const& info, TrustRules const& rules) {
    return info.st_uid == rules.user || info.st_uid == 0 || info.st_uid == rules.other_owner ||
           is_listed_owner(info, rules);
}

bool can_others_write(int descriptor, struct stat const& info, TrustRules const& rules) {
    if ((info.st_mode & S_IWOTH) != 0) return true;
    if ((info.st_mode & S_IWGRP) == 0 || rules.accepts_groups) return false;
    bool const is_private = std::ranges::find(rules.groups, info.st_gid) != rules.groups.end() ||
                            rules.is_private_group(info.st_gid, rules.user) ||
                            (rules.other_owner && rules.is_private_group(info.st_gid, *rules.other_owner));
    return !is_private || may_have_acl(descriptor);
}

Result<FileAccess> load_access(fs::path const& path, TrustRules const& rules) {
    UniqueFd const file(::open(path.c_str(), O_PATH | O_CLOEXEC));
    FileAccess access;
    if (!file || ::fstat(file.get(), &access.info) != 0)
        return os_error(fmt::format("open '{}'", path.string()), errno);
    access.can_others_write = can_others_write(file.get(), access.info, rules);
    return access;
}

Status check_trusted_ancestors(fs::path const& path, TrustRules const& rules) {
    return check(path, rules, Last::anything);
}

Status check_trusted_path(fs::path const& path, TrustRules const& rules) {
    return check(path, rules, Last::trusted);
}

Status check_trusted_directory(fs::path const& path, TrustRules const& rules) {
    return check(path, rules, Last::private_directory);
}

}  // namespace det
