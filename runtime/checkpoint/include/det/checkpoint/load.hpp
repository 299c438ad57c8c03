#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/state.hpp>
#include <det/checkpoint/store.hpp>
#include <det/tensor/device_copies.hpp>

#include <optional>
#include <span>

namespace det::checkpoint {

enum class OnDamage {
    fail,
    take_older,  // the newest that is whole for all ranks
};

struct Loaded {
    CheckpointManifest manifest;
    std::vector<Error> passed_over;  // why newer ones were not taken
};

struct LoadOptions {
    /// Where tensors may lie too. They are filled by way of the host's memory, of which two parts are taken,
    /// so that one is read into while the other is copied. Not owned. Null: all lie in memory of the process.
    tensor::DeviceCopies* devices = nullptr;
    std::uint64_t device_part_size_bytes = std::uint64_t{128} << 20;
    /// To read into, from a page's beginning on: memory that is there already is quicker than new one.
    std::span<std::byte> spare_memory = {};
};

/// Collective: fills every rank's parts of the state from the same checkpoint, the first of the chief's
/// `newest_first` that can be had. The ranks, and how tensors are cut, may differ from when it was saved.
/// Each rank reads the blocks that it needs, verified. Nothing where the list is empty. After an error the
/// state's data is not to be used.
Result<std::optional<Loaded>> load(Peers& peers, Store const& store, std::vector<std::string> newest_first,
                                   State const& state, OnDamage on_damage, LoadOptions const& options = {});

}  // namespace det::checkpoint
