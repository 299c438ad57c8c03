#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>

namespace det {

Result<std::vector<std::uint32_t>> list_numeric_names(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto const names, list_directory(directory));
    std::vector<std::uint32_t> numbers;
    for (auto const& name : names) {
        if (auto const number = parse_integer<std::uint32_t>(name)) numbers.push_back(*number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

}  // namespace det
