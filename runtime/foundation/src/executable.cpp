#include <det/foundation/executable.hpp>

namespace det {

std::filesystem::path own_executable() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

std::filesystem::path sibling_program(std::string_view name) { return own_executable().parent_path() / name; }

std::filesystem::path shared_data() { return own_executable().parent_path().parent_path() / "share" / "det"; }

}  // namespace det
