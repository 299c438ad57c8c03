#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The program that runs container images on the nodes of a pool. custom: the site file says how.
enum class ContainerRuntime { none, apptainer, singularity, podman, enroot, pyxis, custom };
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

/// How a site starts containers of a runtime that det-submit does not know. The items of a list are words of
/// a command line, or several words separated by blanks, with placeholders: {image}; {source}, {target} and
/// {mode} (ro or rw), for which an item is repeated for each mount; {variable}, for the name of each variable
/// that containers get; {gpu}, the options of the vendor of the node's GPUs; {file}, in import_command: the
/// file to make of the image.
struct ContainerTemplate {
    std::string name;
    std::vector<std::string> command;    // in front of the program; empty: srun starts the container
    std::vector<std::string> srun_args;  // of the step
    std::vector<std::string> cuda_options = {}, rocm_options = {}, xpu_options = {};
    std::vector<std::string> import_command = {};
    friend bool operator==(ContainerTemplate const&, ContainerTemplate const&) = default;
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
    std::optional<ContainerTemplate> custom = {};  // with ContainerRuntime::custom
    /// The file that the first node makes of the image, for all jobs; empty: the runtime takes the image.
    std::string image_file = {};

    /// Whether srun starts the container, before any program of det-submit.
    bool is_started_by_srun() const {
        return runtime == ContainerRuntime::pyxis ||
               (runtime == ContainerRuntime::custom && custom && custom->command.empty());
    }
    friend bool operator==(ContainerSpec const&, ContainerSpec const&) = default;
};

}  // namespace det
