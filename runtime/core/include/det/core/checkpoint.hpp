#pragma once
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/save_outcome.hpp>
#include <det/checkpoint/sharded_upload.hpp>
#include <det/checkpoint/state.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace det {
struct CheckpointCommitted;
}  // namespace det

namespace det::checkpoint {
enum class TrainingAfterSave : std::uint8_t;
}  // namespace det::checkpoint

namespace det::core {

struct ContextData;

/// Checkpoints of the trial. Obtained from Context::checkpoint().
///
/// A checkpoint is made by store() (the chief fills a directory), by store_sharded() or upload() (all ranks
/// fill a directory or pass one), or by save() (tensors, while training continues). Metadata is a JSON
/// object, to which "steps_completed" is added; anything else is codes::misuse. steps_completed counts
/// batches since the beginning of the trial. If a collective call fails on one rank, it fails on all ranks.
/// The one exception is an error of writing the journal, which may reach only the chief: the checkpoint may
/// then have been committed, and a later run of the trial finds it.
///
/// Thread safety: one thread at a time, like all of a Context.
class Checkpoint {
public:
    explicit Checkpoint(ContextData& data);
    ~Checkpoint();
    Checkpoint(Checkpoint const&) = delete;
    Checkpoint& operator=(Checkpoint const&) = delete;

    /// A checkpoint that the program is writing: the chief alone, or after begin_sharded() all ranks.
    struct Draft {
        std::string uuid;
        std::filesystem::path directory;  ///< to write files into; empty at first
        std::uint64_t steps_completed = 0;
        JsonValue metadata;
        std::chrono::steady_clock::time_point begun = {};
    };

    /// Begins a checkpoint. The program fills its directory, and then commits or discards it.
    /// \return codes::misuse on ranks other than the chief, or if the metadata is not a JSON object
    Result<Draft> begin(std::uint64_t steps_completed, nlohmann::json metadata);
    /// Turns the files of a draft of begin() into a checkpoint. Not collective. Blocks until the checkpoint
    /// is committed.
    /// \return codes::superseded if a newer run of the trial has begun. An error of writing the journal, or
    ///     of the last sync of the storage, may come after the commit. After any other error there is no
    ///     checkpoint
    Status commit(Draft const& draft);
    /// Removes the files of a draft of begin(). Not collective. Does nothing if commit() has made the
    /// checkpoint, even if commit() has returned an error.
    Status discard(Draft const& draft);

    /// Writes the files of a checkpoint into the directory.
    using Write = std::function<Status(std::filesystem::path const& directory)>;

    /// Calls begin(), `write` and commit(). Only for the chief. Blocks until the checkpoint is committed.
    ///
    ///     DET_TRY(context.checkpoint().store(step, {{"loss", loss}}, [&](auto const& directory) {
    ///         return write_file(directory / "weights", weights);
    ///     }));
    /// \return the UUID; errors as begin(), `write` and commit()
    Result<std::string> store(std::uint64_t steps_completed, nlohmann::json metadata, Write const& write);

    /// Calls store() on the chief for the last time before a preemption, if the time left suffices by the
    /// rule of save_before_preemption(). Collective.
    /// \param metadata,write used on the chief only
    /// \return false, on all ranks, if there is too little time: the trial then continues from the previous
    ///   checkpoint
    Result<bool> store_before_preemption(std::uint64_t steps_completed, nlohmann::json metadata,
                                         Write const& write);

    /// Makes one checkpoint of files that all ranks write. Collective. Blocks until the checkpoint is
    /// committed.
    /// \param write called once on each rank; the directory is the same for all ranks if the storage is a
    ///   file system, else each rank has its own. The rules for files are those of upload()
    /// \return the UUID
    Result<std::string> store_sharded(std::uint64_t steps_completed, nlohmann::json metadata,
                                      Write const& write);

    /// Begins a checkpoint that all ranks fill. Collective. The program writes files into the directory, and
    /// then every rank calls commit_sharded() or give_up_sharded(). The rules for directories, files and
    /// metadata are those of store_sharded().
    Result<Draft> begin_sharded(std::uint64_t steps_completed, nlohmann::json metadata);
    /// Turns the files of all ranks into a checkpoint. Collective. Blocks until the checkpoint is committed.
    /// \return the error of the lowest rank that has one; then there is no checkpoint, unless it is an error
    ///     of writing the journal
    Status commit_sharded(Draft const& draft);
    /// Takes part in commit_sharded() of the other ranks, and makes it fail on all of them.
    /// \param reason the error that all ranks get, unless a lower rank has given up too
    /// \return the error that all ranks get
    Status give_up_sharded(Draft const& draft, Error reason);

    /// Makes one checkpoint of files that each rank passes in a directory. Collective. Blocks until the
    /// checkpoint is committed. The metadata of all ranks is merged.
    /// \return the UUID; codes::misuse if ranks pass different files of the same name, or contradicting
    ///     metadata
    Result<std::string> upload(std::uint64_t steps_completed, checkpoint::Upload upload);

    using Outcomes = std::vector<checkpoint::SaveOutcome>;

    // The calls below save and load tensors and are collective, but for wait_snapshot(). If the context has
    // devices (ContextOptions::devices), tensors may be in memory of this rank's device. They are copied
    // after the work on the stream of the last DistributedContext::use_stream call, for which a call waits;
    // the program must synchronise that stream with other streams that use the memory.

    /// Saves a state. Blocks until the state has been copied, after which the program may change it. Tensors
    /// in device memory with NamedTensor::copy_later are copied afterwards: they may change after
    /// wait_snapshot(). The save becomes a checkpoint, or fails, later: `ended` of the result and the results
    /// of later calls report it.
    /// \param directory if not empty: its files become files of the checkpoint too. For the chief; must stay
    ///     until the save has ended
    Result<checkpoint::SaveStarted> save(std::uint64_t steps_completed, nlohmann::json metadata,
                                         checkpoint::State const& state,
                                         std::filesystem::path const& directory = {});
    /// Makes the last save before a preemption, and calls finish(). If the time left is less than one and a
    /// half times what the last checkpoint took, this state is not saved: saves that have been copied are
    /// committed, and the trial continues from the last of them. The time left ends at the earliest of: the
    /// trial's preemption_timeout after the notice; after a notice of Slurm the partition's GraceTime
    /// (KillWait if it has none), less the part that the supervisor keeps for itself (grace_margin());
    /// SLURM_JOB_END_TIME. If none of these is known, or this run has not made a checkpoint yet, the state is
    /// saved. The chief decides for all ranks.
    /// \return the saves that have ended since the last call
    Result<Outcomes> save_before_preemption(std::uint64_t steps_completed, nlohmann::json metadata,
                                            checkpoint::State const& state,
                                            std::filesystem::path const& directory = {});
    /// Blocks until every tensor of the last save is copied. The next save, load(), load_from(), finish() and
    /// closing the context do so too. An error of the device is that of the save, which all ranks get later.
    /// Not collective.
    void wait_snapshot();
    /// Allocates the memory for copies of such a state, and pins it if tensors are in device memory, so that
    /// the first save is as fast as later ones.
    Status prepare(checkpoint::State const& state);
    /// Begins to commit the saves that all ranks have written by now, and ends those that are committed. A
    /// program can call it in every step: it does not wait for shards to be written. For each new checkpoint
    /// the chief writes a record to the journal and syncs it.
    /// \return the saves that have ended since the last call
    Result<Outcomes> poll();
    /// Blocks until every save has ended.
    /// \return the saves that have ended since the last call
    Result<Outcomes> finish();

    // slurm.memory_checkpoints: besides its checkpoints, a trial keeps its state in the memory of its nodes
    // every few steps. A run that follows in the same job continues from there.

    /// Whether keep_in_memory() would copy the state of this step. Cheap: a program can ask in every step.
    /// The same on all ranks that pass the same steps. Not collective.
    /// \return false without slurm.memory_checkpoints, outside of a run, and if keep_in_memory() has failed
    bool is_kept_in_memory(std::uint64_t steps_completed);
    /// Copies each rank's parts of the state into /dev/shm of its node if is_kept_in_memory(), else does
    /// nothing. Collective. Blocks until the state is copied; the checksum is computed in the background, and
    /// the next call finds out whether all ranks have kept the state. The newest two are kept. With several
    /// nodes, they are also copied in the background to the memory of one other node each; while that lasts
    /// no further state is kept, and one is due again soon after.
    /// \param steps_completed batches since the beginning of the trial; must grow within a run
    /// \return whether the state was copied; false too if the last one is still being copied to other nodes.
    ///     If a rank can't keep its state, all ranks warn once and keep no further ones. codes::misuse if the
    ///     state is not valid or the metadata is not a JSON object
    Result<bool> keep_in_memory(std::uint64_t steps_completed, nlohmann::json metadata,
                                checkpoint::State const& state);

    /// A checkpoint that has been loaded.
    struct Loaded {
        CheckpointManifest manifest;
        bool is_own = false;  ///< checkpoint::Store::is_own(): objects in it may be trusted
    };
    /// Fills each rank's parts of the state from the checkpoint latest(); if there is none, from the newest
    /// one that a run of this trial has committed. Outside of an experiment fills them from the newest
    /// checkpoint that a program outside of an experiment has committed to the same storage. With
    /// OnDamage::take_older, if need be, from an older one of these. The number of ranks and the division of
    /// tensors into parts may differ from the save.
    /// If the run before of the trial has kept a state of more steps in memory, in this job since Slurm has
    /// started it last, and all ranks find what they need in the memory of their nodes or, with as many ranks
    /// as before, of other nodes, loads that
    /// (checkpoint::Loaded::is_from_memory), unless this run has begun to save or keep a state itself. Call
    /// load() even if latest() names no checkpoint.
    /// \return nullopt if there is no such checkpoint; codes::checkpoint_damaged;
    ///     codes::no_such_checkpoint; codes::misuse if the checkpoint does not have a tensor of the state, or
    ///     has it with another type or shape. After an error the data of the state is undefined
    Result<std::optional<checkpoint::Loaded>> load(
        checkpoint::State const& state, checkpoint::OnDamage on_damage = checkpoint::OnDamage::fail);

    /// Fills each rank's parts of the state from the checkpoint `uuid` as load() does. Collective.
    Result<Loaded> load_from(std::string const& uuid, checkpoint::State const& state);

    /// With several nodes and slurm.memory_checkpoints, before loadable() and load_from() of a snapshot in
    /// memory: gets what this node lacks of the newest snapshot from other nodes. load() does not need it.
    /// Does nothing if load() would not load a snapshot. Collective.
    Status fetch_kept();

    // The calls below are not collective.

    /// Lists the checkpoints that load() tries. Before them come the snapshots in memory of which this node
    /// has the files of all ranks; load_from() and load_manifest() take their names ("memory-1-30") too.
    /// \return UUIDs, newest first
    Result<std::vector<std::string>> loadable() const;
    /// \return the UUID of the checkpoint from which this run continues, possibly one of another trial;
    ///     nullopt if the run starts from the beginning, and outside of a run
    std::optional<std::string> latest() const;
    /// Reads all files of a checkpoint and compares them with its manifest. If a program of a trial fails
    /// after an error with checkpoint::is_unusable(), of latest(), its next run continues from an older
    /// checkpoint. \return the directory of the checkpoint, for reading only; codes::checkpoint_damaged and
    /// the other codes
    ///   of checkpoint::is_unusable(); codes::no_such_checkpoint
    Result<std::filesystem::path> restore_path(std::string const& uuid) const;
    /// Finds the directory of a checkpoint without verifying its files. restore_path() may verify them in
    /// another thread at the same time.
    /// \return nullopt if the checkpoint is not kept in a directory; codes::no_such_checkpoint
    Result<std::optional<std::filesystem::path>> find_directory(std::string const& uuid) const;
    /// Copies the selected files of a checkpoint into a directory, and compares them with the manifest. Makes
    /// the directory if it does not exist.
    /// \param selector gets paths in the checkpoint, those of directories with a slash at the end; null: all
    Status download(std::string const& uuid, std::filesystem::path const& directory,
                    checkpoint::Selector const& selector = nullptr) const;
    /// Removes a checkpoint from the storage. Succeeds if it does not exist.
    Status remove(std::string const& uuid);
    /// Reads the manifest of a checkpoint.
    /// \return codes::no_such_checkpoint
    Result<CheckpointManifest> load_manifest(std::string const& uuid) const;

private:
    struct Tensors;
    Tensors& tensors();
    struct Memory;
    Memory* memory() const;
    friend class Context;  // whose close() calls the next two
    /// Waits until the last snapshot is complete and copied to another node.
    void finish_in_memory();
    /// Ends the connections for these copies. All ranks have called finish_in_memory() before.
    void close_memory();
    Result<bool> may_load_kept();
    void note_continued(checkpoint::Loaded& loaded, std::uint32_t run);
    void forget_continued();
    Result<checkpoint::Loaded> load_named_from_memory(std::string const& name,
                                                      checkpoint::State const& state);
    Result<std::optional<checkpoint::Loaded>> load_from_memory(checkpoint::State const& state);
    Result<checkpoint::SaveStarted> begin_save(std::uint64_t steps_completed, nlohmann::json metadata,
                                               checkpoint::State const& state,
                                               std::filesystem::path const& directory,
                                               checkpoint::TrainingAfterSave after);
    Status announce(std::string const& uuid, std::uint64_t steps_completed);
    Status announce_in_background(std::string const& uuid, std::uint64_t steps_completed);
    Error report_unusable(std::string const& uuid, Error error) const;
    void report_unusable(std::vector<std::string> const& newest_first,
                         Result<std::optional<checkpoint::Loaded>> const& loaded) const;
    using Duration = std::chrono::steady_clock::duration;
    /// \param blocked how long the training waited for the save
    CheckpointCommitted make_record(CheckpointManifest const& manifest, Duration blocked) const;
    Status report(CheckpointManifest const& manifest, Duration blocked);
    Status report_in_background(CheckpointManifest const& manifest, Duration blocked);
    /// Reports the committed checkpoints in the background.
    /// \param blocked how long the training waited for the outcomes, beyond the calls that began the saves
    Status report(Outcomes const& outcomes, Duration blocked = {});
    /// Chooses the UUID of a checkpoint on the chief, which records that it begins. Gives all ranks the UUID.
    Result<std::string> begin_upload(std::uint64_t steps_completed);
    Status upload_as(std::string const& uuid, std::uint64_t steps_completed,
                     checkpoint::Upload const& upload);
    /// Whether the time left suffices for another checkpoint. The chief decides for all ranks.
    Result<bool> has_time_to_save();
    /// Stores the time since `begun` in cost_, and returns it.
    Duration measure(std::chrono::steady_clock::time_point begun);

    ContextData& data_;
    std::unique_ptr<Tensors> tensors_;        // created by the first save, load or prepare
    bool has_saved_ = false;                  // a checkpoint of this run has begun; on the chief at least
    mutable std::unique_ptr<Memory> memory_;  // in a run with slurm.memory_checkpoints
    std::optional<std::chrono::microseconds> cost_;  // time that the last committed checkpoint took
};

}  // namespace det::core
