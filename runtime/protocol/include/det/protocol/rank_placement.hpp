#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// Where a rank ran. Its wrapper records it as a line of the run's node-<k>.ranks (FORMATS.md).
struct RankPlacement {
    std::uint32_t rank = 0;
    std::string host;
    std::string cpus;                       // that the rank may use, as Linux lists them: "0-7,64-71"
    std::vector<int> numa_nodes = {};       // of these CPUs; empty: not known
    std::optional<int> gpu_numa_node = {};  // of the rank's GPU; empty: it has none, or it is not known

    friend bool operator==(RankPlacement const&, RankPlacement const&) = default;
};

/// Renders a line with its newline.
std::string render_rank_placement(RankPlacement const& placement);

/// Parses one file. Ignores lines that are torn, damaged or of a newer version, so that the other lines can
/// still be read.
std::vector<RankPlacement> parse_rank_placements(std::string_view text);

}  // namespace det
