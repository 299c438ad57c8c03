#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/pack/ignore.hpp>
#include <det/pack/tree.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <numeric>
#include <sys/stat.h>

namespace det::pack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_files_shown = 5;
constexpr char ignore_file[] = ".detignore";

class Walk {
public:
    explicit Walk(fs::path root) : root_(std::move(root)), rules_(IgnoreRules::defaults()) {}

    Status read_ignore_file() {
        auto const text = read_file(root_ / ignore_file, std::size_t{1} << 20);
        if (text) {
            rules_.add(*text);
        } else if (text.error().code != codes::no_such_file) {
            return text.error();
        }
        return Ok{};
    }

    Status visit(std::string const& prefix) {
        DET_TRY_ASSIGN(auto const names, list_directory(root_ / prefix));
        for (auto const& name : names) DET_TRY(visit_entry(prefix.empty() ? name : prefix + "/" + name));
        return Ok{};
    }

    std::vector<Member> members;
    Diagnostics found;

private:
    Status visit_entry(std::string const& path) {
        struct stat info {};
        if (::lstat((root_ / path).c_str(), &info) != 0) {
            return os_error(fmt::format("read '{}'", (root_ / path).string()), errno);
        }
        auto const kind = S_ISDIR(info.st_mode) ? EntryKind::directory : EntryKind::file;
        if (rules_.ignores(path, kind)) return Ok{};
        if (S_ISDIR(info.st_mode)) {
            members.push_back({Member::Kind::directory, path, 0, false});
            return visit(path);
        }
        if (S_ISREG(info.st_mode)) {
            members.push_back({Member::Kind::file, path, static_cast<std::uint64_t>(info.st_size),
                               (info.st_mode & S_IXUSR) != 0});
        } else if (S_ISLNK(info.st_mode)) {
            visit_link(path);
        } else {
            found.report(Error{codes::bad_value, fmt::format("'{}' is no file that can be packed", path),
                               fmt::format("list it in {}", ignore_file)});
        }
        return Ok{};
    }

    void visit_link(std::string const& path) {
        std::error_code error;
        auto const target = fs::read_symlink(root_ / path, error);
        auto const resolved = (fs::path(path).parent_path() / target).lexically_normal();
        if (error || target.is_absolute() || resolved.empty() || *resolved.begin() == "..") {
            found.report(Error{
                codes::unsafe_link,
                fmt::format("'{}' is a link that leads out of the context: '{}'", path, target.string()),
                fmt::format("copy what it points to, or list it in {}", ignore_file)});
            return;
        }
        members.push_back({Member::Kind::link, path, 0, false, target.string()});
    }

    fs::path root_;
    IgnoreRules rules_;
};

Error too_large(std::vector<Member> members, std::uint64_t size_bytes) {
    std::sort(members.begin(), members.end(),
              [](auto const& a, auto const& b) { return a.size_bytes > b.size_bytes; });
    members.resize(std::min(members.size(), largest_files_shown));
    Error error{codes::context_too_large,
                fmt::format("the files of the context have {}, more than {}", format_size(size_bytes),
                            format_size(context_limit_bytes)),
                fmt::format("list data and results in {}; read data sets from a path that all nodes see",
                            ignore_file)};
    for (auto const& member : members) {
        error.notes.push_back(fmt::format("{:>10}  {}", format_size(member.size_bytes), member.path));
    }
    return error;
}

Error no_context(fs::path const& directory) {
    struct stat info {};
    if (::stat(directory.c_str(), &info) != 0) {
        return os_error(fmt::format("open the context '{}'", directory.string()), errno);
    }
    return Error{codes::not_a_directory,
                 fmt::format("the context '{}' is not a directory", directory.string()),
                 "name the directory that holds the code"};
}

}  // namespace

Result<std::vector<Member>, Diagnostics> list_context(fs::path const& directory) {
    if (!fs::is_directory(directory)) return Diagnostics(no_context(directory));
    Walk walk(directory);
    if (auto const read = walk.read_ignore_file(); !read) return Diagnostics(read.error());
    if (auto visited = walk.visit(""); !visited) return Diagnostics(std::move(visited).error());
    auto const size = std::accumulate(walk.members.begin(), walk.members.end(), std::uint64_t{0},
                                      [](auto sum, auto const& member) { return sum + member.size_bytes; });
    if (size > context_limit_bytes) walk.found.report(too_large(walk.members, size));
    if (walk.found.has_errors()) return std::move(walk.found);
    std::sort(walk.members.begin(), walk.members.end(),
              [](auto const& a, auto const& b) { return a.path < b.path; });
    return std::move(walk.members);
}

}  // namespace det::pack
