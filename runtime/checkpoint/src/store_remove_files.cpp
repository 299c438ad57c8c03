#include <det/checkpoint/store.hpp>

#include <algorithm>

namespace det::checkpoint {

Status Store::remove_files(std::string const& uuid, std::vector<std::string> const& paths) {
    DET_TRY_ASSIGN(auto manifest, find(uuid));
    auto const is_removed = [&](std::string const& path) {
        return std::ranges::find(paths, path) != paths.end();
    };
    std::erase_if(manifest.files, [&](auto const& file) { return is_removed(file.path); });
    std::erase_if(manifest.tensors, [&](auto const& tensor) {
        return std::ranges::any_of(tensor.slices, is_removed, &StoredSlice::file);
    });
    DET_TRY(replace_manifest(manifest));
    for (auto const& path : paths) DET_TRY(remove_file(uuid, path));
    return Ok{};
}

}  // namespace det::checkpoint
