#include "resolve_links.hpp"

#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace det::pack {
namespace {

namespace fs = std::filesystem;

enum class LinkTarget {
    inside,
    nowhere,  // dangling: the target is not packed, or the links form a cycle
    outside,  // the target is outside of the source, or absolute
};

constexpr int hops_max = 40;  // Linux follows at most 40 links in one path

Member const* find_member(ContextTree const& tree, std::string_view path) {
    auto const found =
        std::lower_bound(tree.members.begin(), tree.members.end(), path,
                         [](Member const& member, auto wanted) { return member.path < wanted; });
    return found != tree.members.end() && found->path == path ? &*found : nullptr;
}

/// Resolves a link in the packed tree part by part from the directory of the link, through other links, as
/// the kernel does.
class LinkResolver {
public:
    LinkResolver(ContextTree const& tree, Member const& link)
        : tree_(tree), path_(link.path), root_(tree.sources[link.source].name) {}

    LinkTarget follow(std::string_view target) {
        if (!expand(target)) return LinkTarget::outside;
        while (!ahead_.empty()) {
            auto const part = ahead_.back();
            ahead_.pop_back();
            if (part.empty() || part == ".") continue;
            if (!(part == ".." ? step_up() : step_into(part))) return LinkTarget::outside;
            if (hops_ > hops_max) return LinkTarget::nowhere;
        }
        return found_ ? LinkTarget::inside : LinkTarget::nowhere;
    }

private:
    /// Replaces the link at path_ by its target.
    bool expand(std::string_view target) {
        ++hops_;
        if (target.starts_with('/')) return false;
        leave();
        auto const parts = split(target, '/');
        ahead_.insert(ahead_.end(), parts.rbegin(), parts.rend());
        return true;
    }

    bool step_up() {
        if (path_ == root_) return false;
        leave();
        return true;
    }

    bool step_into(std::string_view part) {
        if (!path_.empty()) path_ += '/';
        path_ += part;
        auto const* const member = find_member(tree_, path_);
        if (member == nullptr) found_ = false;
        return member == nullptr || member->kind != Member::Kind::link || expand(member->link_target);
    }

    void leave() {
        auto const slash = path_.rfind('/');
        path_.resize(slash == std::string::npos ? 0 : slash);
    }

    ContextTree const& tree_;
    std::string path_;
    std::string const& root_;
    std::vector<std::string_view> ahead_;  // in reverse order: the next part is the last element
    int hops_ = 0;
    bool found_ = true;
};

void sort_by_path(std::vector<Member>& members) {
    std::sort(members.begin(), members.end(), [](auto const& a, auto const& b) {
        return a.path != b.path ? a.path < b.path : a.source < b.source;
    });
}

bool is_below_or_equal(fs::path const& path, fs::path const& directory) {
    auto const [in_directory, in_path] =
        std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
    return in_directory == directory.end();
}

/// Replaces links that lead out of their source by what they point to.
class LinkFollower {
public:
    LinkFollower(ContextTree& tree, std::span<IgnoreRules const> rules, Findings& findings)
        : tree_(tree), rules_(rules), findings_(findings), links_(tree.sources.size()), user_(::geteuid()) {}

    /// Replaces the links of the sources from `first` on. Adds a source for each.
    Status follow_links_of(std::size_t first) {
        std::vector<Member> outside;
        for (auto const& member : tree_.members) {
            if (member.kind != Member::Kind::link || member.source < first) continue;
            if (LinkResolver(tree_, member).follow(member.link_target) == LinkTarget::outside)
                outside.push_back(member);
        }
        // Only now, because a link may lead out through another one.
        std::erase_if(tree_.members, [next = outside.begin(),
                                      end = outside.end()](auto const& member) mutable {
            bool const is_outside = next != end && next->path == member.path && next->source == member.source;
            if (is_outside) ++next;
            return is_outside;
        });
        for (auto const& link : outside) DET_TRY(follow(link));
        return Ok{};
    }

    /// Warns of what was packed in place of a link.
    void describe() {
        Findings followed;
        for (std::size_t source = rules_.size(); source < tree_.sources.size(); ++source) {
            auto const [files, size_bytes] = count_files(source);
            if (files == 0) continue;  // .detignore lists it
            followed.report(Error{
                codes::unsafe_link,
                fmt::format("'{}' is a link that leads out of the context: '{}' is packed in its place, "
                            "{}, {}",
                            links_[source]->path, tree_.sources[source].path.string(),
                            count_text(files, "file"), format_size(size_bytes))});
        }
        for (auto& found : std::move(followed).finish().sorted()) tree_.warnings.warn(std::move(found.error));
    }

private:
    /// The link in whose place a source is packed.
    struct Link {
        std::string path;    // on disk
        fs::path directory;  // of the link, without links
        std::size_t source;  // that has the link
    };

    Status follow(Member const& link) {
        auto const place = tree_.disk_path(link);
        auto const refuse = [&](std::string const& reason) {
            findings_.report(
                Error{codes::unsafe_link,
                      fmt::format("'{}' is a link that leads out of the context: {}", place, reason),
                      "copy what it points to, or list it in .detignore"});
            return Ok{};
        };
        auto const name = "'" + link.link_target + "'";
        std::error_code problem;
        auto const target = fs::canonical(place, problem);
        if (problem) return refuse(fmt::format("cannot read {}: {}", name, problem.message()));
        auto const directory = fs::canonical(fs::path(place).parent_path(), problem);
        struct stat of_link {
        }, of_target{};
        if (problem || ::lstat(place.c_str(), &of_link) != 0 || ::lstat(target.c_str(), &of_target) != 0)
            return refuse(fmt::format("{} changed while the code was listed", name));
        if (of_link.st_uid != user_) return refuse("the link does not belong to you");
        if (of_target.st_uid != user_) return refuse(name + " does not belong to you");
        bool const is_directory = S_ISDIR(of_target.st_mode);
        if (is_directory && holds_its_link(target, link.source, directory))
            return refuse(name + " is a directory that holds the link");
        tree_.sources.push_back({target, link.path, is_directory, root_of(link.source)});
        links_.push_back(Link{place, directory, link.source});
        auto const source = tree_.sources.size() - 1;
        return Walk(tree_, source, rules_[root_of(source)], findings_).run();
    }

    /// Whether following the link would never end: the directory holds the link, or a link that was followed
    /// on the way to it.
    bool holds_its_link(fs::path const& target, std::size_t source, fs::path const& directory) const {
        if (is_below_or_equal(directory, target)) return true;
        for (auto const* link = find_link(source); link != nullptr; link = find_link(link->source))
            if (is_below_or_equal(link->directory, target)) return true;
        return false;
    }

    Link const* find_link(std::size_t source) const { return links_[source] ? &*links_[source] : nullptr; }
    std::size_t root_of(std::size_t source) const {
        return tree_.sources[source].followed_from.value_or(source);
    }

    std::pair<std::size_t, std::uint64_t> count_files(std::size_t source) const {
        std::size_t files = 0;
        std::uint64_t size_bytes = 0;
        for (auto const& member : tree_.members) {
            if (member.source != source || member.kind != Member::Kind::file) continue;
            ++files;
            size_bytes += member.size_bytes;
        }
        return {files, size_bytes};
    }

    ContextTree& tree_;
    std::span<IgnoreRules const> rules_;  // of the sources that the user named
    Findings& findings_;
    std::vector<std::optional<Link>> links_;  // by source; of the sources that the user named: none
    uid_t user_;                              // the effective user
};

void warn_of_dangling_links(ContextTree& tree) {
    Findings dangling;
    for (auto const& member : tree.members) {
        if (member.kind != Member::Kind::link) continue;
        if (LinkResolver(tree, member).follow(member.link_target) != LinkTarget::nowhere) continue;
        dangling.report(
            Error{codes::no_such_file, fmt::format("'{}' is a link to '{}', which is not in the context",
                                                   tree.disk_path(member), member.link_target)});
    }
    for (auto& found : std::move(dangling).finish().sorted()) tree.warnings.warn(std::move(found.error));
}

}  // namespace

Status resolve_links(ContextTree& tree, std::span<IgnoreRules const> rules, Findings& findings) {
    LinkFollower follower(tree, rules, findings);
    sort_by_path(tree.members);
    for (std::size_t first = 0; first < tree.sources.size();) {
        auto const known = tree.sources.size();
        DET_TRY(follower.follow_links_of(first));
        sort_by_path(tree.members);
        first = known;
    }
    follower.describe();
    warn_of_dangling_links(tree);
    return Ok{};
}

}  // namespace det::pack
