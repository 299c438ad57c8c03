#include <det/foundation/text.hpp>
#include <det/protocol/trusted_ancestors.hpp>

namespace det {

std::vector<std::filesystem::path> parse_trusted_ancestors(std::string_view list) {
    std::vector<std::filesystem::path> paths;
    for (auto const path : split(list, ':')) {
        if (!path.empty()) paths.emplace_back(path);
    }
    return paths;
}

}  // namespace det
