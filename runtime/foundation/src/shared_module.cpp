#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_module.hpp>

#include <algorithm>
#include <dlfcn.h>
#include <link.h>

namespace det {

namespace fs = std::filesystem;

std::vector<fs::path> module_candidates(Environment const& environment, std::string const& file_name) {
    std::vector<fs::path> files;
    if (auto const folder = environment.find_non_empty("DET_MODULES"))
        files.push_back(fs::path(*folder) / file_name);
    auto const here =
        own_object_file().parent_path();  // <prefix>/bin, or a library's <prefix>/lib/<architecture>
    for (auto const& folder : {here, here.parent_path() / "lib", here.parent_path()})
        files.push_back(folder / file_name);
    if (auto const run_dir = environment.find_non_empty("DET_RUN_DIR"))
        files.push_back(fs::path(*run_dir) / "host/lib/det-host" / file_name);
    std::erase_if(files, [](auto const& file) { return !path_exists(file); });
    files.emplace_back(file_name);
    return files;
}

std::vector<fs::path> module_candidates(std::string const& file_name) {
    return module_candidates(Environment::of_this_process(), file_name);
}

Result<void*, std::string> open_module(fs::path const& file, char const* entry, SymbolScope scope) {
    int const flags = scope == SymbolScope::all ? RTLD_LAZY | RTLD_GLOBAL : RTLD_NOW | RTLD_LOCAL;
    void* const library = ::dlopen(file.c_str(), flags);
    if (library == nullptr) return std::string(::dlerror());
    if (void* const function = ::dlsym(library, entry)) return function;
    return file.string() + ": not a module of this program, it has no function " + entry;
}

std::vector<std::string> loaded_libraries(std::string_view prefix) {
    struct Search {
        std::string_view prefix;
        std::vector<std::string> found;
    } search{prefix, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            auto& [wanted, found] = *static_cast<Search*>(context);
            auto name = fs::path(info->dlpi_name).filename().string();
            if (name.starts_with(wanted)) found.push_back(std::move(name));
            return 0;
        },
        &search);
    std::ranges::sort(search.found);
    return std::move(search.found);
}

}  // namespace det
