#pragma once
#include <det/foundation/environment.hpp>

#include <filesystem>
#include <optional>
#include <string_view>

namespace det {

/// Finds a program by its name in the directories of PATH, as a shell would. nullopt: none of them has it.
std::optional<std::filesystem::path> find_program(std::string_view name, Environment const& environment);

}  // namespace det
