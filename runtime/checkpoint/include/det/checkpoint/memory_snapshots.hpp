#pragma once
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/memory_directory.hpp>
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/rank_messages.hpp>
#include <det/checkpoint/state.hpp>
#include <det/protocol/json_value.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace det::checkpoint {

struct MemorySnapshotOptions {
    MemoryPlace place;
    std::uint32_t run = 0;         // the number of this run of the trial
    int node = 0;                  // the ranks with the same number share the memory of a node
    std::string switch_name = {};  // to which the node is connected; empty: unknown
    bool is_first_of_node = true;
    int copy_threads = 1;
    tensor::DeviceCopies* devices = nullptr;
    std::function<void(std::string const& warning)> warn = {};
    /// Called by a thread when a snapshot has its checksum. A snapshot counts only if it succeeds, and a
    /// failure does not end the keeping.
    std::function<Status()> may_complete = {};
    /// Connects the ranks for copies between nodes. Collective; called once, by keep() or load(). Null: there
    /// are no copies. The messages may be null on all ranks, if they can't be connected.
    std::function<Result<std::unique_ptr<RankMessages>>()> open_messages = {};
    /// How many bytes may be taken; tests replace it.
    std::function<std::uint64_t()> available_bytes = {};
};

/// Keeps the newest two snapshots of each rank's state in the memory of its node, and loads those of the run
/// before. Those of older runs are of another branch of the training: the run between may have continued from
/// a checkpoint.
///
/// A rank has two files (memory_file.hpp). The older one is renamed, overwritten, and gets the name of its
/// new snapshot when its checksum is complete; so each file is a whole snapshot or none. Once a run has
/// loaded a snapshot, or all ranks have kept one, a rank overwrites a file only if all ranks have the
/// snapshot in the other one: therefore one always exists that all ranks have. The memory of the files is
/// used again, because the first touch of new memory costs more than the copy.
///
/// With several nodes, a thread also sends each snapshot to one rank of another node, its partner, which
/// keeps the newest two beside its own; a snapshot counts as one that all ranks have only if all copies are
/// whole. The run after the loss of a node gets the lost ranks' snapshots from their partners. The partner is
/// under another switch, as far as switches are known and there are others.
///
/// Thread safety: one thread at a time.
class MemorySnapshots {
public:
    MemorySnapshots(Peers& peers, MemorySnapshotOptions options);
    ~MemorySnapshots();
    MemorySnapshots(MemorySnapshots const&) = delete;
    MemorySnapshots& operator=(MemorySnapshots const&) = delete;

    /// Copies this rank's parts of the state. Collective. Blocks until the last snapshot has its checksum on
    /// all ranks and the state is copied. Does not wait for copies on other nodes: if they are not complete,
    /// keeps nothing, returns false, and may be called in the next step. If no copies can be made (too little
    /// memory), warns once, and goes on without.
    /// \return false if copies are not complete, and if a rank can't keep its state, now or since the last
    ///     call: it and all ranks then remove the snapshots of the trial, warn once, and keep none any more
    Result<bool> keep(std::uint64_t steps, JsonValue const& metadata, State const& state);
    /// Whether keep() has given up.
    bool is_off() const;
    /// Waits until the last snapshot of this rank is complete and copied. To be called by all ranks before
    /// the first of them destroys this object, which may end their connections.
    void finish();
    /// Replaces MemorySnapshotOptions::devices, for ranks that get their devices later. Not collective.
    void use_devices(tensor::DeviceCopies* devices);

    struct LoadedSnapshot {
        Loaded loaded;
        std::uint32_t run = 0;  // that kept it
    };
    /// Fills the parts of all ranks from the newest snapshot with more steps than `steps` that the run before
    /// has kept completely, and whose needed files each rank finds on its node with the right checksums. Gets
    /// files that a node lacks, or has damaged, from other nodes: each rank its own file, or, if the number
    /// of ranks differs from that of the snapshot, each node the files of all ranks. Then the division of
    /// tensors may differ too. Collective.
    /// \return nullopt if there is none. Loaded::passed_over has the reasons why newer ones were not used;
    ///     without a result they are warnings. An Error only if the exchange between the ranks fails. Without
    ///     a result the data of the state is undefined
    Result<std::optional<LoadedSnapshot>> load(State const& state, std::uint64_t steps);

    // For programs that choose what to load by its name (memory_snapshot_name), step by step.

    /// With several nodes, brings to each node what it lacks of the newest snapshot with more steps than
    /// `steps` that load() could load, the files of all ranks; if a node can't get them, tries the one
    /// before. Then list() has it on all nodes. Collective. \return an Error only if the exchange between the
    /// ranks fails
    Status fetch(std::uint64_t steps);
    /// The names of the snapshots with more steps than `steps` that the run before has kept, of which this
    /// node has the files of all ranks, newest first. Not collective.
    std::vector<std::string> list(std::uint64_t steps) const;
    /// What a snapshot of list() has: its tensors, and the metadata of rank 0. Not collective.
    /// \return codes::no_such_checkpoint, codes::checkpoint_damaged
    Result<CheckpointManifest> load_manifest(std::string const& name) const;
    /// Fills the parts of all ranks from a snapshot that is named. Collective.
    /// \return the error of the lowest rank that has one; then the data of the state is undefined
    Result<LoadedSnapshot> load_named(State const& state, std::string const& name);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// The text that stands in place of a UUID: "memory-2-30" for step 30 of run 2.
std::string memory_snapshot_name(std::uint32_t run, std::uint64_t steps);
bool is_memory_snapshot_name(std::string_view name);

}  // namespace det::checkpoint
