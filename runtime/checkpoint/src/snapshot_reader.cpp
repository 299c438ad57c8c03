#include "snapshot_reader.hpp"

#include <det/checkpoint/memory_snapshots.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "device_load.hpp"
#include "memory_file.hpp"
#include "read_plan.hpp"

namespace det::checkpoint {
namespace {

/// Builds the manifest of the snapshot as far as this node has its files. Of parts that several ranks hold
/// the first counts: the rank's own file comes first.
CheckpointManifest manifest_of(SnapshotId const& id, std::vector<MemoryFile> const& files) {
    CheckpointManifest manifest;
    manifest.uuid = memory_snapshot_name(id.run, id.steps);
    manifest.steps_completed = id.steps;
    manifest.world_size = id.ranks;
    std::map<std::string, StoredTensor> tensors;
    std::set<std::tuple<std::string, Extents, Extents>> parts;
    for (auto const& file : files) {
        CheckpointFile described;
        described.path = to_string(file.name);
        described.size_bytes = described.block_size_bytes = file.file.bytes().size();
        manifest.files.push_back(std::move(described));
        for (auto const& [slice, offset] : file.tensors) {
            auto& stored = tensors[slice.name];
            stored.name = slice.name;
            stored.dtype = safetensors_name(slice.type);
            stored.shape = slice.shape;
            if (!parts.emplace(slice.name, slice.part.begin, slice.part.shape).second) continue;
            stored.slices.push_back({to_string(file.name), offset, slice.part.begin, slice.part.shape});
        }
    }
    for (auto& [name, tensor] : tensors) manifest.tensors.push_back(std::move(tensor));
    return manifest;
}

}  // namespace

/// The files of the snapshot on this node. The rank's own comes first. One that is damaged counts as
/// absent, unless it is the rank's own.
/// \param count 1: only the first
Result<std::vector<MemoryFile>> SnapshotReader::open_files(MemoryFiles const& files, SnapshotId const& id,
                                                           int count) const {
    std::vector<MemoryFile> opened;
    for (int i = 0; i < count; ++i) {
        auto const rank = (peers_.rank() + i) % id.ranks;
        MemoryFileName const name{id.run, id.steps, rank, id.ranks};
        auto const found = files.find(name);
        if (found == files.end()) continue;
        auto file = MemoryFile::open(found->second, name);
        if (file) opened.push_back(*std::move(file));
        if (!file && i == 0) return std::move(file).error();
    }
    return opened;
}

Result<CheckpointManifest> SnapshotReader::load(MemoryFiles const& names, SnapshotId const& id,
                                                State const& state, tensor::DeviceCopies* devices) const {
    DET_TRY(check_state(state));
    DET_TRY_ASSIGN(auto files, open_files(names, id, 1));
    auto manifest = manifest_of(id, files);
    if (!plan_reads(manifest, state)) {  // the tensors were divided in another way
        DET_TRY_ASSIGN(files, open_files(names, id, id.ranks));
        manifest = manifest_of(id, files);
    }
    std::set<std::string> verified;
    auto const find = [&](std::string const& path) {
        return std::ranges::find_if(files, [&](auto const& file) { return to_string(file.name) == path; });
    };
    auto const read = [&](State const& part) -> Status {
        DET_TRY_ASSIGN(auto const plan, plan_reads(manifest, part));
        for (auto const* shard : plan.shards) {
            if (verified.insert(shard->path).second) DET_TRY(find(shard->path)->verify());
        }
        for (auto const& block : plan.reads) {
            auto const bytes = find(plan.shards[block.shard]->path)->file.bytes();
            for (auto const& piece : block.pieces)
                std::memcpy(piece.to, bytes.data() + piece.offset_bytes, piece.size_bytes);
        }
        return Ok{};
    };
    // A program may load in several calls: a damaged file of this rank is found by the first.
    if (!files.empty() && verified.insert(to_string(files[0].name)).second) DET_TRY(files[0].verify());
    State on_host, on_devices;
    for (auto const& tensor : state) {
        bool const is_on_device = devices != nullptr && devices->is_device_memory(tensor.data);
        (is_on_device ? on_devices : on_host).push_back(tensor);
    }
    DET_TRY(read(on_host));
    if (!on_devices.empty()) DET_TRY(load_to_devices(on_devices, {.devices = devices}, read));
    if (peers_.is_chief()) {
        auto const first = std::ranges::find(files, 0, [](auto const& file) { return file.name.rank; });
        if (first == files.end())
            return Error{codes::no_such_checkpoint,
                         fmt::format("the node of rank 0 has no file of rank 0 of {}", manifest.uuid)};
        if (verified.insert(to_string(first->name)).second) DET_TRY(first->verify());
        manifest.metadata = first->metadata;
    }
    return manifest;
}

Result<CheckpointManifest> SnapshotReader::load_manifest(SnapshotId const& id) const {
    DET_TRY_ASSIGN(auto const files, open_files(list_memory_files(place_), id, id.ranks));
    auto manifest = manifest_of(id, files);
    auto const first = std::ranges::find(files, 0, [](auto const& file) { return file.name.rank; });
    if (first == files.end()) return damaged_error(manifest.uuid, "the file of rank 0 can't be read");
    manifest.metadata = first->metadata;
    return manifest;
}

}  // namespace det::checkpoint
