#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/json_value.hpp>

#include <filesystem>
#include <functional>

namespace det::cli {

/// Fills a directory with an export. The directory is new or empty, or has an earlier export with the same
/// mark: then each file and directory of this export replaces the one of its name, and others stay. Its
/// parent must exist. The directory gets the export only when all of it is written. \param mark what is
/// exported and in which format; kept in the directory \param write writes the export into the directory that
/// it gets \return codes::name_taken if the directory has anything else
Status fill_export_directory(std::filesystem::path const& directory, Json const& mark,
                             std::function<Status(std::filesystem::path const& incomplete)> const& write);

}  // namespace det::cli
