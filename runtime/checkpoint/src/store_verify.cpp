#include <det/checkpoint/store.hpp>

#include "damage.hpp"
#include "file_checksum.hpp"

namespace det::checkpoint {

Result<Store::Whole> Store::fetch_whole(std::string const& uuid, ReadFrom from) const {
    DET_TRY_ASSIGN(auto manifest, find(uuid));
    DET_TRY_ASSIGN(auto directory, fetch(manifest, [](auto const&) { return true; }));
    for (auto const& file : manifest.files) {
        auto const checked = check_file(directory, file, from);
        if (!checked && checked.error().code == codes::checkpoint_damaged)
            return damaged(uuid, checked.error().message);
        if (!checked) return checked.error();
    }
    return Whole{std::move(manifest), std::move(directory)};
}

Result<CheckpointManifest> Store::verify(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto whole, fetch_whole(uuid, ReadFrom::disk));
    return std::move(whole.manifest);
}

}  // namespace det::checkpoint
