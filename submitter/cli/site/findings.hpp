#pragma once
#include <det/protocol/document.hpp>
#include <det/site/check.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace det::cli {

std::size_t count_changes(std::vector<site::Finding> const& findings);
Json findings_json(std::vector<site::Finding> const& findings);
/// Two or three lines for each finding: what, why, and what to write into which file.
std::string findings_text(std::vector<site::Finding> const& findings);
/// "nothing has to change", "1 thing to change", "2 things to change".
std::string changes_text(std::size_t changes);

}  // namespace det::cli
