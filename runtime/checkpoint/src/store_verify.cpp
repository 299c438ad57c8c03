#include <det/checkpoint/store.hpp>

#include "damage.hpp"
#include "file_checksum.hpp"

namespace det::checkpoint {

Result<CheckpointManifest> Store::verify(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto manifest, find(uuid));
    DET_TRY_ASSIGN(auto const root, fetch(manifest, [](auto const&) { return true; }));
    for (auto const& file : manifest.files) {
        auto const checked = check_file(root, file);
        if (!checked && checked.error().code == codes::checkpoint_damaged)
            return damaged(uuid, checked.error().message);
        if (!checked) return checked.error();
    }
    return manifest;
}

}  // namespace det::checkpoint
