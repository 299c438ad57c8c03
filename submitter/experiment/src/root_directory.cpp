#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/foundation/user_name.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::experiment {
namespace {

// A root without the file is of version 1.
constexpr DocumentKind root_format{"root", 1};
constexpr std::size_t format_size_max_bytes = 65'536;

constexpr char root_hint[] = "set DET_ROOT to a directory of yours that all nodes see";

Status check_owner(std::filesystem::path const& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return Ok{};  // not there yet
    if (!S_ISDIR(info.st_mode)) {
        return Error{codes::not_a_directory, fmt::format("the root '{}' is not a directory", path.string()),
                     root_hint};
    }
    if (info.st_uid != ::geteuid()) {
        auto const owner = name_of_user(info.st_uid);
        return Error{
            codes::unsafe_owner,
            fmt::format("the root '{}' belongs to another user, {}", path.string(), owner),
            fmt::format("{}; commands that only read show it with --root '{}'", root_hint, path.string())};
    }
    return require_private(path, fmt::format("the root '{}'", path.string()), root_hint);
}

std::filesystem::path format_file(RootLayout const& root) { return root.path() / "format"; }

Status check_format(RootLayout const& root) {
    if (!path_exists(format_file(root))) return Ok{};
    DET_TRY_ASSIGN(auto const text, read_trusted_file(format_file(root), format_size_max_bytes));
    if (auto const body = parse_document(root_format, text); !body) {
        auto error = body.error();
        error.message = fmt::format("'{}': {}", format_file(root).string(), error.message);
        if (error.code == codes::newer_format)
            error.hint = "use the det-submit that made the root, or set DET_ROOT to another directory";
        return error;
    }
    return Ok{};
}

/// Returns the site's storage_root with this user's name inserted; empty if the site file sets none.
Result<std::string> root_of_site(Environment const& environment) {
    auto const site = load_site_file(environment);
    if (!site) return site.error().sorted().front().error;
    if (!site->storage_root) return std::string();
    auto const user = user_name(environment);
    if (user.empty() || user == "." || user == ".." || user.find('/') != std::string::npos)
        return Error{codes::usage, fmt::format("'{}' is no user name for a directory", user), root_hint};
    return config::expand_storage_root(*site->storage_root, user);
}

/// Whether a directory is a root: a user may also have installed det-submit in ~/det.
bool is_root(std::filesystem::path const& path) {
    RootLayout const root(path);
    return path_exists(format_file(root)) || path_exists(root.experiments()) ||
           path_exists(root.templates()) || path_exists(root.models());
}

/// The root of a user for whom neither DET_ROOT nor the site names one; empty if he has no home.
std::filesystem::path default_root(Environment const& environment) {
    auto const home = environment.find_non_empty("HOME");
    if (home && is_root(std::filesystem::path(*home) / "det")) return std::filesystem::path(*home) / "det";
    constexpr char name[] = "det-submit";
    auto const data = environment.find_non_empty("XDG_DATA_HOME");
    // Relative paths count as unset, as XDG says.
    if (data && data->starts_with('/')) return std::filesystem::path(*data) / name;
    return home ? std::filesystem::path(*home) / ".local" / "share" / name : std::filesystem::path();
}

std::filesystem::path without_slash(std::filesystem::path path) {
    path = path.lexically_normal();
    return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Status require_private(std::filesystem::path const& path, std::string const& what,
                       std::string const& advice) {
    auto const access = load_access(path);
    if (!access) return Ok{};  // not there yet
    if (access->info.st_uid != ::geteuid())
        return Error{codes::unsafe_owner, fmt::format("{} belongs to another user", what), advice};
    if (access->can_others_write) {
        return Error{codes::unsafe_owner, fmt::format("others can write into {}", what),
                     fmt::format("chmod go-w '{}'", path.string())};
    }
    return Ok{};
}

Result<RootLayout> find_root(Environment const& environment) {
    std::filesystem::path path;
    if (auto const root = environment.find_non_empty(variables::root)) {
        path = *root;
    } else if (auto of_site = root_of_site(environment); !of_site) {
        return std::move(of_site).error();
    } else if (!of_site->empty()) {
        path = *of_site;
    } else if (path = default_root(environment); path.empty()) {
        return Error{codes::usage, "neither DET_ROOT nor HOME is set", root_hint};
    }
    if (!path.is_absolute()) {
        return Error{codes::usage, fmt::format("the root '{}' is not an absolute path", path.string()),
                     root_hint};
    }
    path = without_slash(path);
    DET_TRY(check_owner(path));
    RootLayout const root(path);
    DET_TRY(check_format(root));
    return root;
}

Result<RootLayout> find_shown_root(Context const& context) {
    auto root = context.foreign_root ? Result<RootLayout>(context.foreign_root->root)
                                     : find_root(context.environment);
    if (!root || !context.shows_packed) return root;
    return root->for_reading(context.places);
}

std::optional<uid_t> find_foreign_owner(std::filesystem::path const& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || info.st_uid == ::geteuid()) return std::nullopt;
    return info.st_uid;
}

Result<ForeignRoot> open_foreign_root(std::filesystem::path const& named) {
    auto const path = without_slash(named);
    auto const what = fmt::format("the root '{}'", path.string());
    UniqueFd const directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!directory || ::fstat(directory.get(), &info) != 0) {
        if (errno != EACCES) return os_error(fmt::format("open {}", what), errno);
        return Error{codes::permission, fmt::format("you may not read {}", what),
                     "its owner can share it with his group: 'det-submit config set sharing group'"};
    }
    TrustRules rules;
    rules.user = info.st_uid;
    if (can_others_write(directory.get(), info, rules))
        return Error{codes::unsafe_owner,
                     fmt::format("others than its owner can write into {} ({})", what, describe_access(info)),
                     "tell its owner"};
    ForeignRoot foreign{RootLayout(path), info.st_uid, name_of_user(info.st_uid)};
    ForeignTree const tree(path, foreign.owner);
    DET_TRY(check_format(foreign.root));
    return foreign;
}

Status record_root_format(RootLayout const& root) {
    if (path_exists(format_file(root))) return Ok{};
    DET_TRY(write_new_file(format_file(root), render_document(root_format, Json::object())));
    return Ok{};
}

std::string root_id(RootLayout const& root) { return format_hex32(crc32c(root.path().string())); }

std::string job_comment(RootLayout const& root, ExperimentId id) {
    return slurm::render_experiment_comment(root_id(root), id.value);
}

}  // namespace det::experiment
