#include "read_plan.hpp"

#include <det/checkpoint/stored_manifest.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace det::checkpoint {
namespace {

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

}  // namespace

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

}  // namespace det::checkpoint
