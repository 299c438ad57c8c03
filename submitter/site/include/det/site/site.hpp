#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/slurm/partition.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace det::site {

/// Where trials can run: nodes of one partition that are alike.
struct Pool {
    std::string name;
    std::string partition;
    bool is_default = false;
    SlotType slot_type = SlotType::cpu;
    int slots_per_node = 1;
    int node_count = 0;
    std::string preempt_mode;  // OFF, REQUEUE ...
    std::chrono::seconds grace_time{0};
};

struct Site {
    std::vector<Pool> pools;

    Pool const* find_pool(std::string_view name) const;
    Pool const* default_pool() const;
};

/// A pool per partition, with its slots from the GPUs that Slurm knows of, or, where there are none, one per
/// CPU. Where nodes differ, those of the kind that most are of. Partitions without nodes make no pool. Pure.
Site make_site(std::vector<slurm::Partition> const& partitions);

/// The pool of that name, or the default one where the name is empty; the Error lists what there is.
Result<Pool> require_pool(Site const& site, std::string_view name);

}  // namespace det::site
