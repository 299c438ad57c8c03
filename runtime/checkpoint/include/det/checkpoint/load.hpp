#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/state.hpp>
#include <det/checkpoint/store.hpp>
#include <det/tensor/device_copies.hpp>

#include <optional>
#include <span>

namespace det::checkpoint {

/// What load() does if a checkpoint is damaged or absent.
enum class OnDamage {
    fail,        ///< returns its error
    take_older,  ///< tries the next one of the list
};

/// The checkpoint that was loaded.
struct Loaded {
    CheckpointManifest manifest;
    std::vector<Error> passed_over;  ///< the errors of newer checkpoints, which could not be loaded
    /// A snapshot in memory (memory_snapshots.hpp). No store has its UUID.
    bool is_from_memory = false;
};

struct LoadOptions {
    /// Copies to tensors in device memory. Such tensors are read into two buffers in host memory in turn:
    /// while one buffer is filled, the other is copied to the device. Not owned. Null: all tensors are in
    /// host memory.
    tensor::DeviceCopies* devices = nullptr;
    std::uint64_t device_part_size_bytes = std::uint64_t{128} << 20;  ///< of each buffer
    /// Memory to read into, aligned to pages (Saver::spare_memory()). Memory whose pages exist is faster than
    /// new memory. Not owned. May be empty.
    std::span<std::byte> spare_memory = {};
};

/// Fills the parts of all ranks from one checkpoint: the first of the list, or with OnDamage::take_older the
/// first one that all ranks can read. Collective. Blocks until the parts are filled. The number of ranks and
/// the division of tensors may differ from the save. Each rank fetches only the files, and reads only the
/// blocks, that it needs. It verifies the checksums of these blocks.
///
/// \param newest_first UUIDs; the chief's list is used
/// \param state the parts of tensors that this rank loads
/// \return empty if the list is empty. codes::checkpoint_damaged or codes::no_such_checkpoint of the first
///     checkpoint if all that were tried are damaged or absent; codes::misuse if the checkpoint lacks a
///     tensor or has it with another type or shape; any other error of the store. If ranks have different
///     errors, all get that of the lowest rank. After an error the data of the state is undefined
Result<std::optional<Loaded>> load(Peers& peers, Store const& store, std::vector<std::string> newest_first,
                                   State const& state, OnDamage on_damage, LoadOptions const& options = {});

}  // namespace det::checkpoint
