#pragma once
#include <det/tracker/index/database.hpp>

#include <cstdint>
#include <filesystem>

namespace det::tracker::index {

/// The version of the tables. An index of another version is made anew, not converted.
inline constexpr std::int64_t tables_version = 4;

/// Opens an index of the experiments below `root`. With Access::write and Access::write_unsafe it creates the
/// tables if the file is empty. codes::newer_format if the tables have another version; codes::misuse if the
/// index is one of another root.
Result<Database> open_index(std::filesystem::path const& path, std::filesystem::path const& root,
                            Access access);

/// The number of the last transaction that changed the index. Clients that wait for a change wait for a
/// higher number.
Result<std::int64_t> load_commit_number(Database& index);
/// To be called in each transaction that changes the index.
Status increase_commit_number(Database& index);

}  // namespace det::tracker::index
