#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The program that runs container images on the nodes of a pool.
enum class ContainerRuntime { none, apptainer, singularity, podman, enroot, pyxis };
std::string_view to_string(ContainerRuntime runtime);
std::optional<ContainerRuntime> parse_container_runtime(std::string_view text);

struct ContainerMount {
    std::string host_path;
    std::string container_path;  // absolute
    bool read_only = false;
    std::string propagation = "rprivate";
    friend bool operator==(ContainerMount const&, ContainerMount const&) = default;
};

struct ContainerDevice {
    std::string host_path;
    std::string container_path;
    std::string mode = "mrw";
    friend bool operator==(ContainerDevice const&, ContainerDevice const&) = default;
};

/// The container in which the entrypoint of an experiment runs.
struct ContainerSpec {
    ContainerRuntime runtime = ContainerRuntime::none;
    std::string image;  // in the syntax of the runtime
    std::vector<ContainerMount> mounts;
    std::vector<ContainerDevice> devices;
    std::uint64_t shm_size_bytes = 0;  // 0: the runtime's default
    bool pulls_always = false;
    std::vector<std::string> add_capabilities, drop_capabilities;
    friend bool operator==(ContainerSpec const&, ContainerSpec const&) = default;
};

}  // namespace det
