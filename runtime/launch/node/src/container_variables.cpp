#include <det/launch/node/container_variables.hpp>

#include <algorithm>

namespace det::launch::node {
namespace {

enum class Origin {
    run,       // the same for all ranks of a node, or used by the launcher only
    launcher,  // a launcher sets it for its ranks
};

struct RankVariable {
    std::string_view pattern;  // a '*' matches any suffix
    Origin origin = Origin::run;
};

constexpr RankVariable variable_table[] = {
    {"RANK", Origin::launcher},
    {"LOCAL_RANK", Origin::launcher},
    {"CROSS_RANK", Origin::launcher},
    {"WORLD_SIZE", Origin::launcher},
    {"LOCAL_WORLD_SIZE", Origin::launcher},
    {"LOCAL_SIZE", Origin::launcher},
    {"CROSS_SIZE", Origin::launcher},
    {"GROUP_*", Origin::launcher},
    {"MASTER_*", Origin::launcher},
    {"HOROVOD_*", Origin::launcher},
    {"OMPI_COMM_WORLD_*", Origin::launcher},
    {"TF_CONFIG", Origin::launcher},
    {"CUDA_VISIBLE_DEVICES", Origin::launcher},
    {"ROCR_VISIBLE_DEVICES", Origin::launcher},
    {"HIP_VISIBLE_DEVICES", Origin::launcher},
    {"ZE_AFFINITY_MASK", Origin::launcher},
    {"DET_CHIEF_IP", Origin::launcher},
    {"DET_*"},
    {"SLURM_*"},
    {"PMI*"},
    {"OMPI_*"},
    {"AWS_*"},
    {"UCX_*"},
    {"NCCL_*"},
    {"GLOO_*"},
    {"TP_SOCKET_IFNAME"},
    {"FI_*"},
    {"CXI_*"},
    {"MPICH_*"},
    {"OMP_*"},
    {"CUDA_*"},
    {"HSA_*"},
    {"ROCR_*"},
    {"HIP_*"},
    {"MIOPEN_*"},
    {"ZE_*"},
    {"ZES_*"},
    {"SYCL_*"},
    {"ONEAPI_*"},
    {"CCL_*"},
    {"IPEX_*"},
    {"PYTHONUNBUFFERED"},
    {"PYTORCH_*"},
    {"TORCH_*"},
    {"TORCHINDUCTOR_*"},
    {"HF_*"},
    {"http_proxy"},
    {"https_proxy"},
    {"ftp_proxy"},
    {"no_proxy"},
    {"all_proxy"},
    {"HTTP_PROXY"},
    {"HTTPS_PROXY"},
    {"FTP_PROXY"},
    {"NO_PROXY"},
    {"ALL_PROXY"},
    {"TRITON_*"},
    {"NVIDIA_*"},
    {"USE_*"},
};

bool matches(std::string_view name, std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// The first row about the variable; nullptr if there is none.
RankVariable const* find_row(std::string_view name) {
    auto const* const found =
        std::ranges::find_if(variable_table, [&](auto const& row) { return matches(name, row.pattern); });
    return found != std::end(variable_table) ? found : nullptr;
}

}  // namespace

bool is_passed_to_containers(std::string_view name) { return find_row(name) != nullptr; }

bool is_set_by_launchers(std::string_view name) {
    auto const* row = find_row(name);
    return row != nullptr && row->origin == Origin::launcher;
}

}  // namespace det::launch::node
