#include "walk.hpp"

#include <det/foundation/trusted_path.hpp>

#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace det::pack {
namespace {

constexpr std::size_t findings_told = 20;
constexpr char ignore_file[] = ".detignore";
constexpr std::size_t ignore_file_limit_bytes = std::size_t{1} << 20;

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string_view kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "a fifo";
    if (S_ISSOCK(mode)) return "a socket";
    return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "a special file";
}

Member::Kind member_kind(mode_t mode) { return S_ISDIR(mode) ? Member::Kind::directory : Member::Kind::file; }

}  // namespace

void Findings::report(Error error) {
    if (++count_ <= findings_told) reported_.report(std::move(error));
}

Diagnostics Findings::finish() && {
    if (count_ > findings_told) {
        reported_.report(
            Error{codes::bad_value, fmt::format("and {} more like these", count_ - findings_told)});
    }
    return std::move(reported_);
}

Result<IgnoreRules> read_ignore_rules(Source const& source) {
    auto rules = IgnoreRules::defaults();
    if (!source.is_directory) return rules;
    auto const patterns = read_file(source.path / ignore_file, ignore_file_limit_bytes);
    if (patterns) {
        rules.add(*patterns);
    } else if (patterns.error().code != codes::no_such_file) {
        return patterns.error();
    }
    return rules;
}

Walk::Walk(ContextTree& tree, std::size_t source, IgnoreRules const& rules, Findings& findings)
    : tree_(tree), source_(source), findings_(findings), rules_(rules), user_(::geteuid()) {
    auto const& walked = tree_.sources[source_];
    if (!walked.followed_from) return;
    auto const& root = tree_.sources[*walked.followed_from].name;
    rules_prefix_ = walked.name.substr(root.empty() ? 0 : root.size() + 1) + "/";
}

Status Walk::run() {
    auto const& source = tree_.sources[source_];
    if (source.is_directory) return run_directory();
    return visit(AT_FDCWD, source.path.string(), source.name);
}

Status Walk::run_directory() {
    auto const& source = tree_.sources[source_];
    if (source.followed_from && is_ignored("", EntryKind::directory)) return Ok{};
    root_ = UniqueFd(::open(source.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root_) return os_error(fmt::format("read the directory '{}'", source.path.string()), errno);
    if (!source.name.empty())
        tree_.members.push_back({Member::Kind::directory, source.name, 0, false, {}, source_});
    pending_ = {""};
    while (!pending_.empty()) {
        auto const directory = std::move(pending_.back());
        pending_.pop_back();
        DET_TRY(list(directory));
    }
    return Ok{};
}

Status Walk::list(std::string const& directory) {
    UniqueFd fd(::openat(root_.get(), directory.empty() ? "." : directory.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::unique_ptr<DIR, CloseDirectory> const opened(fd ? ::fdopendir(fd.get()) : nullptr);
    if (opened == nullptr) {
        findings_.report(os_error(fmt::format("read the directory '{}'", place(directory)), errno));
        return Ok{};
    }
    auto const parent = fd.release();
    for (;;) {
        errno = 0;
        auto const* const entry = ::readdir(opened.get());
        if (entry == nullptr) break;
        std::string const name(entry->d_name);
        if (name == "." || name == "..") continue;
        DET_TRY(visit(parent, name, directory.empty() ? name : directory + "/" + name));
    }
    if (errno != 0) return os_error(fmt::format("read the directory '{}'", place(directory)), errno);
    return Ok{};
}

/// `path` is the path in the source directory; for a source that is a file, its name in the context.
Status Walk::visit(int parent, std::string const& name, std::string path) {
    bool const is_source = !root_;
    struct stat info {};
    if (::fstatat(parent, name.c_str(), &info, is_source ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT && !is_source) return Ok{};  // removed during the listing
        findings_.report(os_error(fmt::format("read '{}'", place(path)), errno));
        return Ok{};
    }
    bool const is_directory = S_ISDIR(info.st_mode);
    if (!is_source && is_ignored(path, is_directory ? EntryKind::directory : EntryKind::file)) {
        leave_out(path);
        return Ok{};
    }
    if (tree_.sources[source_].followed_from && info.st_uid != user_) {
        findings_.report(Error{
            codes::unsafe_link,
            fmt::format("a link leads out of the context to '{}', which does not belong to you", place(path)),
            "copy what it points to, or list it in .detignore"});
        return Ok{};
    }
    if (path.size() > path_bytes_max) {
        findings_.report(Error{codes::bad_value, fmt::format("the path '{}' has {} bytes, more than {}",
                                                             place(path), path.size(), path_bytes_max)});
        return Ok{};
    }
    if (tree_.members.size() >= members_max) {
        return Error{
            codes::context_too_large,
            fmt::format("the context has more than {} files and directories", members_max),
            fmt::format("name the directory that holds the code only, or list the rest in {}", ignore_file)};
    }
    if (S_ISLNK(info.st_mode)) {
        add_link(parent, name, std::move(path));
    } else if (S_ISREG(info.st_mode) || is_directory) {
        if (!is_directory) check_readable(parent, name, path, info);
        if (!is_source) check_writers(parent, name, path, info);
        if (is_directory) pending_.push_back(path);
        add(std::move(path), info);
    } else {
        findings_.report(Error{codes::bad_value,
                               fmt::format("'{}' is {}: only files, directories and links can be packed",
                                           place(path), kind_of(info.st_mode)),
                               is_source ? "" : fmt::format("list it in {}", ignore_file)});
    }
    return Ok{};
}

void Walk::add(std::string path, struct stat const& info) {
    auto const& source = tree_.sources[source_];
    auto const kind = member_kind(info.st_mode);
    bool const is_file = kind == Member::Kind::file;
    if (source.is_directory && !source.name.empty()) path.insert(0, source.name + "/");
    tree_.members.push_back({kind, std::move(path), is_file ? static_cast<std::uint64_t>(info.st_size) : 0,
                             is_file && (info.st_mode & S_IXUSR) != 0, std::string(), source_});
}

void Walk::leave_out(std::string const& path) {
    auto const& source = tree_.sources[source_];
    auto& left_out = tree_.left_out;
    if (left_out.count++ >= LeftOut::paths_max) return;
    left_out.paths.push_back(source.is_directory && !source.name.empty() ? source.name + "/" + path : path);
}

void Walk::add_link(int parent, std::string const& name, std::string path) {
    char target[PATH_MAX];
    auto const size = ::readlinkat(parent, name.c_str(), target, sizeof target);
    if (size <= 0) {
        findings_.report(os_error(fmt::format("read the link '{}'", place(path)), errno));
        return;
    }
    add(std::move(path), {});
    tree_.members.back().kind = Member::Kind::link;
    tree_.members.back().link_target.assign(target, static_cast<std::size_t>(size));
}

/// A file of this user with read permission for its owner needs no access check.
void Walk::check_readable(int parent, std::string const& name, std::string const& path,
                          struct stat const& info) {
    if (info.st_uid == user_ && (info.st_mode & S_IRUSR) != 0) return;
    if (::faccessat(parent, name.c_str(), R_OK, AT_EACCESS) == 0) return;
    findings_.report(os_error(fmt::format("read '{}'", place(path)), errno));
}

/// Code runs as the user, so that whoever can write it acts as the user.
void Walk::check_writers(int parent, std::string const& name, std::string const& path,
                         struct stat const& info) {
    if ((info.st_mode & S_IWOTH) != 0) {
        findings_.report(Error{codes::unsafe_owner, fmt::format("every user can write '{}'", place(path)),
                               fmt::format("chmod o-w '{}'", place(path))});
        return;
    }
    bool is_shared = info.st_uid != user_ && info.st_uid != 0;
    if (!is_shared && (info.st_mode & S_IWGRP) != 0) {
        TrustRules rules;
        rules.is_private_group = [](gid_t, uid_t) { return true; };  // asks for an ACL only
        is_shared = !is_private(info.st_gid);
        if (!is_shared) {
            UniqueFd const file(::openat(parent, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
            is_shared = can_others_write(file.get(), info, rules);
        }
    }
    if (is_shared && tree_.shared.count++ == 0) tree_.shared.first = place(path);
}

/// A directory service may take milliseconds to answer.
bool Walk::is_private(gid_t group) {
    auto const [found, is_new] = private_groups_.try_emplace(group, false);
    if (is_new) found->second = is_private_group(group, user_);
    return found->second;
}

/// \param path in the source directory; empty: the directory
bool Walk::is_ignored(std::string const& path, EntryKind kind) const {
    auto whole = rules_prefix_ + path;
    if (path.empty() && !whole.empty()) whole.pop_back();
    return rules_.ignores(whole, kind);
}

std::string Walk::place(std::string const& path) const {
    auto const& source = tree_.sources[source_];
    return source.is_directory && !path.empty() ? (source.path / path).string() : source.path.string();
}

}  // namespace det::pack
