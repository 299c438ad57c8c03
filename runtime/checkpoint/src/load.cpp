#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "checkpoint_files.hpp"
#include "device_load.hpp"
#include "parallel.hpp"
#include "read_plan.hpp"

namespace det::checkpoint {
namespace {

/// Opens the shards that a plan reads.
Result<std::vector<ShardReader>> open_shards(std::filesystem::path const& root, ReadPlan const& plan) {
    std::vector<ShardReader> shards;
    for (auto const* file : plan.shards) {
        DET_TRY_ASSIGN(auto shard, ShardReader::open(root, *file, ReadFrom::page_cache_or_disk));
        shards.push_back(std::move(shard));
    }
    return shards;
}

Status read_all(std::filesystem::path const& root, ReadPlan const& plan, std::span<std::byte> lent) {
    DET_TRY_ASSIGN(auto const shards, open_shards(root, plan));
    std::uint64_t block_size = 0;
    for (auto const& shard : shards) block_size = std::max(block_size, shard.block_size_bytes());
    std::mutex turn;
    return each_in_parallel(
        reader_thread_count, plan.reads.size(), {block_size, lent},
        [&](std::size_t index, std::byte* memory) -> Status {
            auto const& read = plan.reads[index];
            DET_TRY_ASSIGN(auto const bytes, shards[read.shard].read_block(read.block, memory, turn));
            for (auto const& piece : read.pieces)
                std::memcpy(piece.to, bytes.data() + piece.offset_bytes, piece.size_bytes);
            return Ok{};
        });
}

/// Fills tensors in host memory as read_all() does; those in device memory through host copies of them.
Status read_to_devices_too(std::filesystem::path const& root, CheckpointManifest const& manifest,
                           State const& state, LoadOptions const& options) {
    auto const read = [&](State const& part) -> Status {
        DET_TRY_ASSIGN(auto const plan, plan_reads(manifest, part));
        return read_all(root, plan, options.spare_memory);
    };
    State on_host, on_devices;
    for (auto const& tensor : state)
        (options.devices->is_device_memory(tensor.data) ? on_devices : on_host).push_back(tensor);
    DET_TRY(read(on_host));
    return load_to_devices(on_devices, options, read);
}

/// Fills the tensors of this rank from one checkpoint. Not collective.
Result<CheckpointManifest> load_own(Store const& store, std::string const& uuid, State const& state,
                                    LoadOptions const& options) {
    DET_TRY(check_state(state));
    DET_TRY_ASSIGN(auto manifest, store.load_manifest(uuid));
    DET_TRY_ASSIGN(auto const plan, plan_reads(manifest, state));
    auto const is_needed = [&](std::string const& path) {
        return std::ranges::find(plan.shards, path, &CheckpointFile::path) != plan.shards.end();
    };
    DET_TRY_ASSIGN(auto const root, store.fetch(manifest, is_needed));
    auto const read = options.devices != nullptr ? read_to_devices_too(root, manifest, state, options)
                                                 : read_all(root, plan, options.spare_memory);
    if (!read && read.error().code == codes::checkpoint_damaged)
        return damaged_error(uuid, read.error().message);
    if (!read) return read.error();
    return manifest;
}

bool may_pass_over(Error const& error) {
    return is_unusable(error) || error.code == codes::no_such_checkpoint;
}

std::string render_list(std::vector<std::string> const& list) { return to_line(Json(list)); }

Result<std::vector<std::string>> share_list(Peers& peers, std::vector<std::string> const& list) {
    DET_TRY_ASSIGN(auto const text, peers.broadcast(render_list(list)));
    return decode_json("a list of checkpoints",
                       [&] { return parse_json(text).get<std::vector<std::string>>(); });
}

}  // namespace

Result<std::optional<Loaded>> load(Peers& peers, Store const& store, std::vector<std::string> newest_first,
                                   State const& state, OnDamage on_damage, LoadOptions const& options) {
    DET_TRY_ASSIGN(auto const candidates, share_list(peers, newest_first));
    Loaded loaded;
    for (auto const& uuid : candidates) {
        auto manifest = load_own(store, uuid, state, options);
        auto loaded_by_all = agree_on_status(peers, manifest ? Status(Ok{}) : Status(manifest.error()));
        if (loaded_by_all) {
            loaded.manifest = *std::move(manifest);
            return std::optional(std::move(loaded));
        }
        if (on_damage == OnDamage::fail || !may_pass_over(loaded_by_all.error()))
            return loaded_by_all.error();
        loaded.passed_over.push_back(std::move(loaded_by_all).error());
    }
    if (candidates.empty()) return std::optional<Loaded>();
    return loaded.passed_over.front();
}

}  // namespace det::checkpoint
