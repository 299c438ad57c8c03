#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

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
    } else if (auto const home = environment.find_non_empty("HOME")) {
        path = std::filesystem::path(*home) / "det";
    } else {
        return Error{codes::usage, "neither DET_ROOT nor HOME is set", root_hint};
    }
    if (!path.is_absolute()) {
        return Error{codes::usage, fmt::format("the root '{}' is not an absolute path", path.string()),
                     root_hint};
    }
    path = path.lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // a slash at the end
    DET_TRY(check_owner(path));
    RootLayout const root(path);
    DET_TRY(check_format(root));
    return root;
}

Status record_root_format(RootLayout const& root) {
    if (path_exists(format_file(root))) return Ok{};
    DET_TRY(write_new_file(format_file(root), render_document(root_format, Json::object())));
    return Ok{};
}

std::string root_id(RootLayout const& root) { return format_hex32(crc32c(root.path().string())); }

std::string job_comment(RootLayout const& root, ExperimentId id) {
    return fmt::format("det:{}/{}", root_id(root), id.value);
}

}  // namespace det::experiment
