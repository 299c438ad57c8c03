#include <det/protocol/container.hpp>

#include "enum_names.hpp"

namespace det {
namespace {

constexpr EnumNames<7> runtime_names{"none",   "apptainer", "singularity", "podman",
                                     "enroot", "pyxis",     "custom"};

}  // namespace

std::string_view to_string(ContainerRuntime runtime) { return name_in(runtime_names, runtime); }
std::optional<ContainerRuntime> parse_container_runtime(std::string_view text) {
    return find_named<ContainerRuntime>(runtime_names, text);
}

}  // namespace det
