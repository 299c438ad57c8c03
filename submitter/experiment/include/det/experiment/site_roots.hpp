#pragma once
#include <det/experiment/context.hpp>
#include <det/foundation/error.hpp>

#include <cstddef>
#include <vector>

namespace det::experiment {

/// The roots of other users below the site's storage_root.
struct SiteRoots {
    std::vector<ForeignRoot> readable;  // in the order of the names of their users
    std::size_t private_count = 0;      // that this user may not read
    std::vector<Error> refused;         // others can write them, or they are not of the user of their name
};

/// Looks for a root of each user. Empty if the site file has no storage_root, or one in which %u is only a
/// part of a name.
Result<SiteRoots> find_site_roots(Context const& context);

}  // namespace det::experiment
