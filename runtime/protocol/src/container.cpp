#include <det/protocol/container.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>

namespace det {
namespace {

constexpr std::array<std::string_view, 6> runtime_names{"none",   "apptainer", "singularity",
                                                        "podman", "enroot",    "pyxis"};

}  // namespace

std::string_view to_string(ContainerRuntime runtime) {
    return runtime_names[static_cast<std::size_t>(runtime)];
}

std::optional<ContainerRuntime> parse_container_runtime(std::string_view text) {
    auto const found = std::ranges::find(runtime_names, text);
    if (found == runtime_names.end()) return std::nullopt;
    return static_cast<ContainerRuntime>(found - runtime_names.begin());
}

Json container_to_json(ContainerSpec const& container) {
    Json mounts = Json::array(), devices = Json::array();
    for (auto const& mount : container.mounts) {
        mounts.push_back({{"host_path", mount.host_path},
                          {"container_path", mount.container_path},
                          {"read_only", mount.read_only},
                          {"propagation", mount.propagation}});
    }
    for (auto const& device : container.devices) {
        devices.push_back({{"host_path", device.host_path},
                           {"container_path", device.container_path},
                           {"mode", device.mode}});
    }
    return {{"runtime", to_string(container.runtime)},
            {"image", container.image},
            {"mounts", mounts},
            {"devices", devices},
            {"shm_size_bytes", container.shm_size_bytes},
            {"pulls_always", container.pulls_always},
            {"add_capabilities", container.add_capabilities},
            {"drop_capabilities", container.drop_capabilities}};
}

std::optional<ContainerSpec> container_from_json(Json const& json) {
    if (json.is_null()) return std::nullopt;
    ContainerSpec container;
    auto const runtime = parse_container_runtime(json.at("runtime").get<std::string>());
    if (!runtime) throw Json::other_error::create(501, "the container runtime is unknown", nullptr);
    container.runtime = *runtime;
    container.image = json.at("image");
    for (auto const& mount : json.at("mounts")) {
        container.mounts.push_back({mount.at("host_path"), mount.at("container_path"), mount.at("read_only"),
                                    mount.at("propagation")});
    }
    for (auto const& device : json.at("devices")) {
        container.devices.push_back({device.at("host_path"), device.at("container_path"), device.at("mode")});
    }
    container.shm_size_bytes = json.at("shm_size_bytes");
    container.pulls_always = json.at("pulls_always");
    container.add_capabilities = json.at("add_capabilities").get<std::vector<std::string>>();
    container.drop_capabilities = json.at("drop_capabilities").get<std::vector<std::string>>();
    return container;
}

}  // namespace det
