#include <det/foundation/foreign_tree.hpp>

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace det {
namespace {

/// The trees of this process, each with its path and a slash.
struct Trees {
    struct Tree {
        std::string prefix;
        uid_t owner;
    };
    std::mutex mutex;
    std::vector<Tree> trees;
    std::atomic<bool> is_empty = true;  // most programs have none, and read without the lock
};

Trees& trees_of_this_process() {
    static Trees trees;
    return trees;
}

std::string prefix_of(std::filesystem::path const& path) { return path.string() + "/"; }

}  // namespace

ForeignTree::ForeignTree(std::filesystem::path path, uid_t owner) : path_(std::move(path)), owner_(owner) {
    auto& all = trees_of_this_process();
    std::lock_guard const lock(all.mutex);
    all.trees.push_back({prefix_of(path_), owner_});
    all.is_empty = false;
}

ForeignTree::~ForeignTree() {
    auto& all = trees_of_this_process();
    std::lock_guard const lock(all.mutex);
    auto const found = std::ranges::find(all.trees, prefix_of(path_), &Trees::Tree::prefix);
    if (found != all.trees.end()) all.trees.erase(found);
    all.is_empty = all.trees.empty();
}

std::optional<uid_t> foreign_owner_of(std::filesystem::path const& path) {
    auto& all = trees_of_this_process();
    if (all.is_empty) return std::nullopt;
    std::lock_guard const lock(all.mutex);
    std::string_view const text = path.native();
    Trees::Tree const* innermost = nullptr;
    for (auto const& tree : all.trees) {
        bool const is_below = text.starts_with(tree.prefix) ||
                              text == std::string_view(tree.prefix).substr(0, tree.prefix.size() - 1);
        if (is_below && (innermost == nullptr || tree.prefix.size() > innermost->prefix.size()))
            innermost = &tree;
    }
    return innermost == nullptr ? std::nullopt : std::optional(innermost->owner);
}

Status check_foreign_owner(struct stat const& info, std::filesystem::path const& path, uid_t owner) {
    // A link in the path may lead to a file of root that this user can read and the owner of the tree can't.
    bool const is_public_of_root = info.st_uid == 0 && (info.st_mode & S_IROTH) != 0;
    if (info.st_uid == owner || is_public_of_root) return Ok{};
    return Error{codes::unsafe_owner,
                 fmt::format("'{}' belongs to user {}, and not to the owner of the root, user {}",
                             path.string(), info.st_uid, owner),
                 "another user has put it there: tell the owner of the root"};
}

}  // namespace det
