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

namespace det::checkpoint {
namespace {

/// A range of bytes of a shard, and the memory to copy it to.
struct Piece {
    std::uint64_t offset_bytes = 0;  // in the shard
    std::uint64_t size_bytes = 0;
    std::byte* to = nullptr;
};

/// The pieces to copy from one block.
struct BlockRead {
    std::size_t shard = 0;  // in ReadPlan::shards
    std::size_t block = 0;
    std::vector<Piece> pieces;  // offsets are from the block's beginning
};

struct ReadPlan {
    std::vector<CheckpointFile const*> shards;  // of the manifest
    std::vector<BlockRead> reads;               // ordered by shard and block
};

Result<StoredTensor const*> find_tensor(CheckpointManifest const& manifest, NamedTensor const& wanted) {
    auto const found = std::ranges::find(manifest.tensors, wanted.name, &StoredTensor::name);
    if (found == manifest.tensors.end()) {
        return Error{codes::misuse,
                     fmt::format("checkpoint {} has no tensor '{}'", manifest.uuid, wanted.name),
                     fmt::format("'det-submit checkpoint describe {}' lists what it has", manifest.uuid)};
    }
    if (found->dtype != safetensors_name(wanted.type) || found->shape != wanted.shape) {
        return Error{codes::misuse, fmt::format("checkpoint {} has tensor '{}' as {} {}, not as {} {}",
                                                manifest.uuid, wanted.name, found->dtype, found->shape,
                                                safetensors_name(wanted.type), wanted.shape)};
    }
    return &*found;
}

/// The index, in `box`, of the element at `begin` + `at`.
std::uint64_t position(Box const& box, Extents const& begin, Extents const& at) {
    std::uint64_t index = 0;
    for (std::size_t d = 0; d < box.shape.size(); ++d)
        index = index * box.shape[d] + (begin[d] - box.begin[d]) + at[d];
    return index;
}

/// The number of leading dimensions to iterate over. The elements of the other dimensions are contiguous in
/// both the file and the tensor.
std::size_t count_outer(Box const& stored, Box const& wanted, Box const& both) {
    auto outer = both.shape.size();
    while (outer > 0) {
        --outer;
        if (both.shape[outer] != stored.shape[outer] || both.shape[outer] != wanted.shape[outer]) break;
    }
    return outer;
}

/// Advances the index `at` over the leading `outer` dimensions. Returns false after the last index.
bool advance(Extents& at, Extents const& shape, std::size_t outer) {
    for (auto d = outer; d > 0; --d) {
        if (++at[d - 1] < shape[d - 1]) return true;
        at[d - 1] = 0;
    }
    return false;
}

void add_pieces(StoredSlice const& slice, NamedTensor const& wanted, Box const& both,
                std::vector<Piece>& pieces) {
    Box const stored{slice.begin, slice.shape};
    auto const element = size_of(wanted.type);
    auto const outer = count_outer(stored, wanted.part, both);
    std::uint64_t run = element;
    for (auto d = outer; d < both.shape.size(); ++d) run *= both.shape[d];
    Extents at(both.shape.size(), 0);
    do {
        auto const from = slice.offset_bytes + position(stored, both.begin, at) * element;
        pieces.push_back({from, run, wanted.data + position(wanted.part, both.begin, at) * element});
    } while (advance(at, both.shape, outer));
}

using PiecesByFile = std::map<std::string, std::vector<Piece>>;

Status add_tensor(CheckpointManifest const& manifest, NamedTensor const& wanted, PiecesByFile& pieces) {
    DET_TRY_ASSIGN(auto const* stored, find_tensor(manifest, wanted));
    std::uint64_t found = 0;
    for (auto const& slice : stored->slices) {
        auto const both = intersect({slice.begin, slice.shape}, wanted.part);
        if (!both) continue;
        found += count_elements(both->shape).value_or(0);
        add_pieces(slice, wanted, *both, pieces[slice.file]);
    }
    if (found == count_elements(wanted.part.shape)) return Ok{};
    return damaged_error(manifest.uuid, fmt::format("its manifest does not cover tensor '{}'", wanted.name));
}

/// Cuts the pieces, which are sorted by offset, at the boundaries of blocks, and adds them to `reads`.
void add_reads(std::size_t shard, std::uint64_t block_size, std::vector<Piece> const& pieces,
               std::vector<BlockRead>& reads) {
    for (auto piece : pieces) {
        while (piece.size_bytes != 0) {
            auto const block = piece.offset_bytes / block_size;
            auto const within = piece.offset_bytes % block_size;
            auto const size = std::min(piece.size_bytes, block_size - within);
            if (reads.empty() || reads.back().shard != shard || reads.back().block != block)
                reads.push_back({shard, block, {}});
            reads.back().pieces.push_back({within, size, piece.to});
            piece = {piece.offset_bytes + size, piece.size_bytes - size, piece.to + size};
        }
    }
}

/// Plans which blocks to read: those that hold elements of the state's parts. The save may have divided the
/// tensors in any way. Pure.
/// \return codes::misuse if the checkpoint lacks a tensor or has it with another type or shape;
///     codes::checkpoint_damaged if the manifest contradicts itself
Result<ReadPlan> plan_reads(CheckpointManifest const& manifest, State const& state) {
    PiecesByFile by_file;
    for (auto const& wanted : state) DET_TRY(add_tensor(manifest, wanted, by_file));
    ReadPlan plan;
    for (auto& [name, pieces] : by_file) {
        auto const file = std::ranges::find(manifest.files, name, &CheckpointFile::path);
        if (file == manifest.files.end() || file->block_size_bytes == 0)
            return damaged_error(manifest.uuid, fmt::format("its manifest has no checksums for '{}'", name));
        std::ranges::sort(pieces, {}, &Piece::offset_bytes);
        auto const exceeds_file = [&](Piece const& piece) {
            return piece.size_bytes > file->size_bytes ||
                   piece.offset_bytes > file->size_bytes - piece.size_bytes;
        };
        if (std::ranges::any_of(pieces, exceeds_file))
            return damaged_error(manifest.uuid,
                                 fmt::format("its manifest names bytes behind the end of '{}'", name));
        add_reads(plan.shards.size(), file->block_size_bytes, pieces, plan.reads);
        plan.shards.push_back(&*file);
    }
    return plan;
}

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
