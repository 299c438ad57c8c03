#pragma once
#include <optional>
#include <string_view>
#include <vector>

namespace det {

/// How the ranks of a node are bound to CPUs: the value of `slurm.bind`.
struct BindPolicy {
    enum class Kind {
        none,       // a rank may use all CPUs of the task
        cores,      // each rank has an equal share of the task's cores
        numa,       // each rank has the CPUs of a NUMA node
        automatic,  // "auto": each rank has an equal share of the cores beside its GPU
        map,        // each rank has the share of the cores that the map names
    };
    Kind kind = Kind::none;
    /// For Kind::map: the number of the share of each rank of a node, in the order of the ranks.
    std::vector<int> map = {};

    friend bool operator==(BindPolicy const&, BindPolicy const&) = default;
};

/// Parses "auto", "none", "cores", "numa", or a map such as "6,7,2,3,0,1,4,5", which has each number from 0
/// on once. Returns nothing for other text. Pure.
std::optional<BindPolicy> parse_bind_policy(std::string_view text);

namespace variables {
/// slurm.bind for the wrappers of ranks; absent: the ranks stay where their launcher has put them.
inline constexpr char bind[] = "DET_BIND";
}  // namespace variables

}  // namespace det
