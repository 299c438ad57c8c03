#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_roots.hpp>
#include <det/foundation/files.hpp>

#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

void add_root(SiteRoots& roots, fs::path const& path, std::string const& user) {
    if (!find_foreign_owner(path)) return;
    auto root = open_foreign_root(path);
    if (!root && root.error().code == codes::permission) {
        ++roots.private_count;
    } else if (!root) {
        roots.refused.push_back(std::move(root).error());
    } else if (root->owner_name != user) {
        roots.refused.push_back({codes::unsafe_owner,
                                 fmt::format("the root '{}' belongs to {}", path.string(), root->owner_name),
                                 "the site gives each user the directory of his name"});
    } else {
        roots.readable.push_back(*std::move(root));
    }
}

}  // namespace

Result<SiteRoots> find_site_roots(Context const& context) {
    auto const site = load_site_file(context.environment);
    if (!site) return site.error().sorted().front().error;
    SiteRoots roots;
    if (!site->storage_root) return roots;
    auto const pattern = config::roots_of_users(*site->storage_root);
    if (!pattern) return roots;
    DET_TRY_ASSIGN(auto const users, list_directory(pattern->directory));
    for (auto const& user : users) {
        auto const entry = fs::path(pattern->directory) / user;
        add_root(roots, pattern->below.empty() ? entry : entry / pattern->below, user);
    }
    return roots;
}

}  // namespace det::experiment
