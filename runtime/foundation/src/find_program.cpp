#include <det/foundation/find_program.hpp>
#include <det/foundation/text.hpp>

#include <unistd.h>

namespace det {

std::optional<std::filesystem::path> find_program(std::string_view name, Environment const& environment) {
    auto const directories = environment.find("PATH").value_or("");
    for (auto const directory : split(directories, ':')) {
        if (directory.empty()) continue;
        auto path = std::filesystem::path(directory) / name;
        std::error_code problem;
        if (::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, problem)) return path;
    }
    return std::nullopt;
}

}  // namespace det
