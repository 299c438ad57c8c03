#include <det/foundation/text.hpp>
#include <det/pack/context_tree.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <sys/stat.h>

#include "resolve_links.hpp"
#include "walk.hpp"

namespace det::pack {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_files_shown = 5;

Result<bool> is_directory(fs::path const& path, std::string_view what) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        return os_error(fmt::format("open {} '{}'", what, path.string()), errno);
    }
    return S_ISDIR(info.st_mode);
}

Result<Source> find_context(fs::path const& path) {
    DET_TRY_ASSIGN(bool const is_right, is_directory(path, "the context"));
    if (is_right) return Source{path, "", true};
    return Error{codes::not_a_directory, fmt::format("the context '{}' is not a directory", path.string()),
                 "name the directory that holds the code; --include adds a file to it"};
}

Result<Source> find_include(fs::path const& path) {
    DET_TRY_ASSIGN(bool const is_directory_too, is_directory(path, "the included"));
    std::error_code error;
    auto whole = fs::absolute(path, error).lexically_normal();
    if (!whole.has_filename()) whole = whole.parent_path();  // the path ends with a slash
    if (error || whole.filename().empty()) {
        return Error{codes::bad_value,
                     fmt::format("'{}' has no name that it could have in the context", path.string()),
                     "include a file or directory of its own"};
    }
    return Source{path, whole.filename().string(), is_directory_too};
}

/// Reports two sources with the same name at the root.
void check_roots(ContextTree const& tree, Findings& findings) {
    std::map<std::string_view, Member const*> roots;
    for (auto const& member : tree.members) {
        if (member.path.find('/') != std::string::npos) continue;
        auto const [there, is_new] = roots.try_emplace(member.path, &member);
        if (is_new) continue;
        findings.report(
            Error{codes::bad_value,
                  fmt::format("duplicate path detected: '{}' and '{}' would both be '{}' in the context",
                              tree.disk_path(*there->second), tree.disk_path(member), member.path),
                  "rename one of them, or include a directory above it"});
    }
}

Error too_large(ContextTree const& tree) {
    std::vector<Member const*> largest(std::min(tree.members.size(), largest_files_shown));
    std::vector<Member const*> all;
    for (auto const& member : tree.members) all.push_back(&member);
    std::partial_sort_copy(
        all.begin(), all.end(), largest.begin(), largest.end(), [](auto const* a, auto const* b) {
            return a->size_bytes != b->size_bytes ? a->size_bytes > b->size_bytes : a->path < b->path;
        });
    Error error{codes::context_too_large,
                fmt::format("the files of the context have {}, more than {}", format_size(tree.size_bytes),
                            format_size(context_limit_bytes)),
                "list data and results in .detignore; read data sets from a path that all nodes see"};
    for (auto const* member : largest)
        error.notes.push_back(fmt::format("{:>10}  {}", format_size(member->size_bytes), member->path));
    return error;
}

/// \return The sum of the sizes, at most the largest 64-bit number: sparse files can have a larger sum.
std::uint64_t sum_sizes(std::vector<Member> const& members) {
    std::uint64_t sum = 0;
    for (auto const& member : members) {
        auto const write_buffer = std::numeric_limits<std::uint64_t>::max() - sum;
        sum += std::min(write_buffer, member.size_bytes);
    }
    return sum;
}

Result<std::vector<Source>, Diagnostics> find_sources(ContextSources const& wanted) {
    std::vector<Source> sources;
    Diagnostics problems;
    auto const add = [&](Result<Source> source) {
        if (source) {
            sources.push_back(*std::move(source));
        } else {
            problems.report(std::move(source).error());
        }
    };
    if (wanted.directory) add(find_context(*wanted.directory));
    for (auto const& path : wanted.includes) add(find_include(path));
    if (problems.has_errors()) return problems;
    return sources;
}

/// Adds the members of all sources, then those to which links out of the sources lead. An error ends the
/// listing.
Status list_members(ContextTree& tree, Findings& findings) {
    std::vector<IgnoreRules> rules;
    for (std::size_t source = 0; source < tree.sources.size(); ++source) {
        DET_TRY_ASSIGN(auto of_source, read_ignore_rules(tree.sources[source]));
        rules.push_back(std::move(of_source));
        DET_TRY(Walk(tree, source, rules.back(), findings).run());
    }
    return resolve_links(tree, rules, findings);
}

}  // namespace

std::string ContextTree::disk_path(Member const& member) const {
    auto const& source = sources[member.source];
    if (member.path == source.name) return source.path.string();
    return (source.path / (source.name.empty() ? member.path : member.path.substr(source.name.size() + 1)))
        .string();
}

Result<ContextTree, Diagnostics> list_context(ContextSources const& wanted) {
    ContextTree tree;
    DET_TRY_ASSIGN(tree.sources, find_sources(wanted));
    Findings findings;
    if (auto listed = list_members(tree, findings); !listed) {
        findings.report(std::move(listed).error());
        return std::move(findings).finish();
    }
    tree.size_bytes = sum_sizes(tree.members);
    check_roots(tree, findings);
    if (tree.size_bytes > context_limit_bytes) findings.report(too_large(tree));
    if (!findings.empty()) return std::move(findings).finish();
    return tree;
}

}  // namespace det::pack
