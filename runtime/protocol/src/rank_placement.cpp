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

}  // namespace

std::string render_rank_placement(RankPlacement const& placement) {
    return render_versioned_line(placement_key, placement_version, placement);
}

std::vector<RankPlacement> parse_rank_placements(std::string_view text) {
    return parse_versioned_lines<RankPlacement>(placement_key, placement_version, text);
}

}  // namespace det
