#pragma once
#include <filesystem>

namespace det::placement {

inline constexpr char well_known_place[] = "/run/determined";

/// Where `place` is a directory of this user's alone, `place`/info leads to the run's info: code that expects
/// Determined's paths finds them. A link to another run that still lives stays. Never fails: it is an
/// addition.
void link_well_known_place(std::filesystem::path const& run_dir,
                           std::filesystem::path const& place = well_known_place);
/// Takes the link away again, if it is this run's.
void unlink_well_known_place(std::filesystem::path const& run_dir,
                             std::filesystem::path const& place = well_known_place);

}  // namespace det::placement
