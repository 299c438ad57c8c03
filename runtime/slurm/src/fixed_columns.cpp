#include <det/slurm/fixed_columns.hpp>

#include <numeric>

namespace det::slurm {

std::optional<std::vector<std::vector<std::string_view>>> parse_fixed_columns(
    std::string_view text, std::span<std::size_t const> widths) {
    auto const row_size = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + 1;
    if (text.size() % row_size != 0) return std::nullopt;
    std::vector<std::vector<std::string_view>> rows;
    for (; !text.empty(); text.remove_prefix(row_size)) {
        if (text[row_size - 1] != '\n') return std::nullopt;
        auto& row = rows.emplace_back();
        std::size_t at = 0;
        for (auto const width : widths) {
            auto const field = text.substr(at, width);
            row.push_back(field.substr(0, field.find_last_not_of(' ') + 1));
            at += width;
        }
    }
    return rows;
}

}  // namespace det::slurm
