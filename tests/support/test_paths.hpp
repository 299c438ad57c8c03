#pragma once
#include <string>
#include <string_view>

namespace det::test {

/// The absolute path of a file of the source tree: source_path("templates/config").
std::string source_path(std::string_view path = {});
/// The absolute path of a file of the build tree: built_path("bin/det-launch").
std::string built_path(std::string_view path = {});
/// The absolute path of a file below tests/golden.
std::string golden_path(std::string_view path);

}  // namespace det::test
