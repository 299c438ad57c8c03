#pragma once
#include <filesystem>

namespace det::launch::node {

inline constexpr char determined_directory[] = "/run/determined";

/// Where `place` is a directory of this user's alone, `place`/info leads to the run's info: code that expects
/// Determined's paths finds them. A link to another run that still lives stays. Never fails: it is an
/// addition.
void link_determined_info(std::filesystem::path const& run_dir,
                          std::filesystem::path const& place = determined_directory);
/// Takes the link away again, if it is this run's.
void unlink_determined_info(std::filesystem::path const& run_dir,
                            std::filesystem::path const& place = determined_directory);

}  // namespace det::launch::node
