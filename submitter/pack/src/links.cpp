#include "links.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::pack {
namespace {

constexpr int hops_max = 40;  // as in Linux

Member const* find_member(ContextTree const& tree, std::string_view path) {
    auto const found =
        std::lower_bound(tree.members.begin(), tree.members.end(), path,
                         [](Member const& member, auto wanted) { return member.path < wanted; });
    return found != tree.members.end() && found->path == path ? &*found : nullptr;
}

/// Resolves a link's target part by part, from the directory of the link.
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

}  // namespace

LinkTarget follow_link(ContextTree const& tree, Member const& link) {
    return LinkResolver(tree, link).follow(link.link_target);
}

}  // namespace det::pack
