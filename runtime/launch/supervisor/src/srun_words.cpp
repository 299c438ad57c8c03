#include "srun_words.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fstream>

namespace det::launch::supervisor {

std::uint64_t output_size_bytes(std::filesystem::path const& output) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(output, error)) return 0;
    auto const size = std::filesystem::file_size(output, error);
    return error ? 0 : size;
}

std::string find_srun_error(std::filesystem::path const& output, std::uint64_t begin_bytes) {
    constexpr std::string_view mark = "srun: error: ";
    constexpr std::uint64_t limit_bytes = std::uint64_t{64} << 10;
    auto const size = output_size_bytes(output);
    if (size <= begin_bytes) return "";
    std::string text(std::min(size - begin_bytes, limit_bytes), '\0');
    std::ifstream file(output, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(begin_bytes));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    for (auto const line : split_lines(text)) {
        if (line.starts_with(mark)) return std::string(trim(line.substr(mark.size())));
    }
    return "";
}

}  // namespace det::launch::supervisor
