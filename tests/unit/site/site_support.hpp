#pragma once
#include <det/site/site.hpp>

#include "check_result.hpp"

namespace det::site {

/// Four nodes of four GPUs, the default, and two without any.
inline std::vector<slurm::Partition> two_partitions() {
    slurm::Partition gpus{"compute",
                          true,
                          true,
                          "REQUEUE",
                          std::chrono::seconds(30),
                          {{4, 8, "idle", "gpu:4", "(null)", "n[0-3]"}}};
    slurm::Partition cpus{"cpu", false, true, "OFF", {}, {{2, 16, "idle", "(null)", "(null)", "c[0-1]"}}};
    return {gpus, cpus};
}

inline config::SiteFile file_of(std::string const& text) {
    return must(config::parse_site_file("version: 1\n" + text, "site.yaml"));
}

}  // namespace det::site
