#pragma once
#include "../check.hpp"

// Rules that several tables share, or that involve several sections.
namespace det::config::schema {

enum class Bound { strict, may_be_equal };
/// Refuses the value of `low` if it is greater than that of `high`, or equal with Bound::strict.
void require_order(yaml::Node const& object, std::string_view low, std::string_view high, Bound bound,
                   Path const& path, Checker& checker);

extern Type const absolute_path;
void require_absolute_path(yaml::Node const& value, Path const& path, Checker& checker);
/// Refuses "..", which object stores treat as an ordinary name.
void require_plain_prefix(yaml::Node const& value, Path const& path, Checker& checker);

void require_project_with_workspace(yaml::Node const& config, Checker& checker);
/// Grid search needs a `count` for each range, also inside lists and maps.
void require_grid_count(yaml::Node const& hyperparameter, Path const& path, Checker& checker);
void require_grid_counts(yaml::Node const& config, Path const& path, Checker& checker);

/// Parses "4G", "1.5 gb", "100 KiB"; units are powers of 1024.
/// \return Bytes; nothing for an invalid size.
std::optional<std::int64_t> parse_memory_size(std::string_view written);

/// Normalises "/a/./x/../b/" to "/a/b"; keeps ".." above the top of a relative path.
std::string clean_path(std::string_view path);

}  // namespace det::config::schema
