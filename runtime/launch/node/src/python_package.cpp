// Finds the installed Python package `determined` and libdet.
#include <det/foundation/files.hpp>
#include <det/launch/node/container_call.hpp>

namespace det::launch::node {

void add_python_package(ContainerCall& call) {
    auto const prefix = call.programs.parent_path();
    auto const package = prefix / "lib/det-submit";
    if (!path_exists(package)) return;
    call.python = package;
    for (auto const* folder : {"lib", DET_LIBRARY_FOLDER}) {
        auto const library = prefix / folder / "libdet.so.0";
        if (!path_exists(library)) continue;
        call.libraries.push_back(library);
        return;
    }
}

}  // namespace det::launch::node
