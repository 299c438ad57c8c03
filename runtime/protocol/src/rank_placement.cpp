#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/rank_placement.hpp>

#include "json_fields.hpp"

namespace det {

template <>
inline constexpr JsonField json_fields<RankPlacement>[] = {
    field<&RankPlacement::rank>("rank"),
    field<&RankPlacement::host>("host"),
    field<&RankPlacement::cpus>("cpus"),
    field<&RankPlacement::numa_nodes>("numa_nodes"),
    field<&RankPlacement::gpu_numa_node>("gpu_numa_node"),
};

namespace {

constexpr char placement_key[] = "rank_placement";
constexpr int placement_version = 1;

std::optional<RankPlacement> parse_placement_line(std::string_view line) {
    auto const json = try_parse_json(line);
    if (!json.is_object() || !json.contains(placement_key)) return std::nullopt;
    auto const& written = json.at(placement_key);
    if (!written.is_number_integer() || written.get<std::int64_t>() > placement_version) return std::nullopt;
    auto placement = fields_from_json<RankPlacement>(placement_key, json);
    return placement ? std::optional(*std::move(placement)) : std::nullopt;
}

}  // namespace

std::string render_rank_placement(RankPlacement const& placement) {
    auto json = fields_to_json(placement);
    json[placement_key] = placement_version;
    return to_line(json) + "\n";
}

std::vector<RankPlacement> parse_rank_placements(std::string_view text) {
    std::vector<RankPlacement> placements;
    for (auto const line : split_lines(text)) {
        if (auto placement = parse_placement_line(line)) placements.push_back(*std::move(placement));
    }
    return placements;
}

}  // namespace det
