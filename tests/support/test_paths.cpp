#include "test_paths.hpp"

namespace det::test {
namespace {

std::string join(std::string_view folder, std::string_view path) {
    std::string joined(folder);
    if (!path.empty()) joined.append("/").append(path);
    return joined;
}

}  // namespace

std::string source_path(std::string_view path) { return join(DET_SOURCE_DIR, path); }
std::string built_path(std::string_view path) { return join(DET_BINARY_DIR, path); }
std::string golden_path(std::string_view path) { return join(DET_SOURCE_DIR "/tests/golden", path); }

}  // namespace det::test
