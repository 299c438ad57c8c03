#pragma once
#include "../check.hpp"

// Rules that several tables share, or that look across sections.
namespace det::config::schema {

/// Two limits of one range: says "<low> must be less than <high>". One of them absent is no violation.
enum class Bound { strict, may_be_equal };
void require_order(yaml::Node const& object, std::string_view low, std::string_view high, Bound bound,
                   Path const& path, Checker& checker);

extern Type const absolute_path;
void require_absolute_path(yaml::Node const& value, Path const& path, Checker& checker);
/// Object stores know no "..": such a prefix would be a name of its own and never found again.
void require_plain_prefix(yaml::Node const& value, Path const& path, Checker& checker);

void require_project_with_workspace(yaml::Node const& config, Checker& checker);
/// Grid search needs to know into how many points each range is cut, those in lists of constants too.
void require_grid_count(yaml::Node const& hyperparameter, Path const& path, Checker& checker);
void require_grid_counts(yaml::Node const& config, Path const& path, Checker& checker);

/// "4G", "1.5 gb", "100 KiB" in bytes, units being powers of 1024; nothing for what is no memory size.
std::optional<std::int64_t> parse_memory_size(std::string_view written);

/// "/a/b" of "/a/./x/../b/"; ".." that leave the top stay.
std::string clean_path(std::string_view path);

}  // namespace det::config::schema
