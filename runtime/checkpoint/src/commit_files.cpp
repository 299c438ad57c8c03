#include "commit_files.hpp"

#include <algorithm>

#include "metadata_file.hpp"

namespace det::checkpoint {

Error clean_up_after(Error error, Store& store, std::string const& uuid) {
    auto const removed = store.remove(uuid);
    return removed ? error
                   : std::move(error).noting("its remains could not be removed: " + removed.error().message);
}

Result<CheckpointManifest> commit_files(Store& store, CheckpointManifest manifest,
                                        MayCommit const& may_commit) {
    auto const published = [&]() -> Status {
        DET_TRY_ASSIGN(auto const directory, store.open(manifest.uuid));
        DET_TRY_ASSIGN(auto metadata, write_metadata(directory, manifest.metadata));
        DET_TRY(store.put(manifest.uuid, {metadata.path}));
        manifest.files.push_back(std::move(metadata));
        std::ranges::sort(manifest.files, {}, &CheckpointFile::path);
        return store.publish(manifest, may_commit);
    }();
    if (published) return manifest;
    return clean_up_after(published.error(), store, manifest.uuid);
}

}  // namespace det::checkpoint
