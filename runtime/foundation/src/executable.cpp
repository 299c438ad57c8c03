#include <det/foundation/executable.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <link.h>

namespace det {

std::filesystem::path own_executable() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

std::filesystem::path own_object_file() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void const*>(&own_object_file), &info) == 0) return own_executable();
    std::error_code failed;
    auto path = std::filesystem::canonical(info.dli_fname, failed);
    return failed ? own_executable() : path;
}

std::filesystem::path sibling_program(std::string_view name) { return own_executable().parent_path() / name; }

std::vector<std::filesystem::path> loaded_library_paths() {
    std::vector<std::filesystem::path> libraries;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* list) {
            std::filesystem::path const path = info->dlpi_name;
            auto const name = path.filename().string();
            constexpr std::string_view c_library[] = {"libc.so", "libm.so", "ld-linux", "linux-vdso"};
            bool const is_c_library = std::ranges::any_of(
                c_library, [&](std::string_view start) { return name.starts_with(start); });
            if (path.is_absolute() && !is_c_library) {
                static_cast<std::vector<std::filesystem::path>*>(list)->push_back(path);
            }
            return 0;
        },
        &libraries);
    return libraries;
}

std::filesystem::path data_directory() {
    return own_executable().parent_path().parent_path() / "share" / "det";
}

}  // namespace det
