#pragma once
#include <filesystem>

namespace det::launch::node {

inline constexpr char determined_directory[] = "/run/determined";

/// If `directory` exists and only this user can write to it, creates the link `directory`/info to the run's
/// info directory, so that code with Determined's paths finds it. An existing link stays unless its target is
/// gone. Never fails.
void link_determined_info(std::filesystem::path const& run_dir,
                          std::filesystem::path const& directory = determined_directory);
/// Removes the link if it points to this run.
void unlink_determined_info(std::filesystem::path const& run_dir,
                            std::filesystem::path const& directory = determined_directory);

}  // namespace det::launch::node
