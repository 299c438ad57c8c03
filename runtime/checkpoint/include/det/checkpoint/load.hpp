#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/store.hpp>
#include <det/checkpoint/tensor.hpp>

#include <optional>

namespace det::checkpoint {

enum class OnDamage {
    fail,
    take_older,  // the newest that is whole for all ranks
};

struct Loaded {
    CheckpointManifest manifest;
    std::vector<Error> passed_over;  // why newer ones were not taken
};

/// Collective: fills every rank's parts of the state from the same checkpoint, the first of the chief's
/// `newest_first` that can be had. The ranks, and how tensors are cut, may differ from when it was saved.
/// Each rank reads the blocks that it needs, verified. Nothing where the list is empty. After an error the
/// state's data is not to be used.
Result<std::optional<Loaded>> load(Peers& peers, Store const& store, std::vector<std::string> newest_first,
                                   State const& state, OnDamage on_damage);

}  // namespace det::checkpoint
