#pragma once
#include <string_view>
#include <vector>

namespace det::tracker::web {

/// A file of bundle/. Its text is the concatenation of the pieces: compilers limit the length of a literal.
struct BundleFile {
    std::string_view name;
    std::vector<std::string_view> pieces;
};

std::vector<BundleFile> const& bundle_files();

}  // namespace det::tracker::web
