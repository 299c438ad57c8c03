#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/save_outcome.hpp>
#include <det/checkpoint/state.hpp>
#include <det/checkpoint/store.hpp>
#include <det/tensor/device_copies.hpp>

#include <functional>
#include <memory>
#include <span>

namespace det::checkpoint {

struct SaverOptions {
    /// Saves that may be in flight at once; at least 1. Each has a copy in memory of what this rank writes. A
    /// further copy is allocated by prepare(), or by the first save that begins while another is in flight.
    std::size_t in_flight_max = 2;
    int writer_threads = 3;
    int copy_threads = 1;  ///< more than one helps if one core cannot fill the memory bus
    /// Whether blocks are written as soon as they are copied. Useful for ranks with several cores. With a
    /// single core the writing would slow down the copy, for which the training waits.
    bool write_while_copying = false;
    /// The unit of checksums and of write calls: a multiple of 4096.
    std::uint64_t block_size_bytes = std::uint64_t{4} << 20;
    /// Whether a shard with the same bytes as in the previous save is shared instead of written: both
    /// checkpoints then have the same file (Store::share_file). A shard is written if the previous write has
    /// failed or has not ended, or if the store cannot share files. Requires an in_flight_max of at least 2.
    /// If a shared file is damaged, all checkpoints that share it are damaged.
    bool share_unchanged = false;
    /// Time limit of save() and finish() for the write of a rank, and for a commit. If one passes, all ranks
    /// get codes::timed_out, and the save remains in flight. If save() has waited this long for the
    /// comparison of share_unchanged, the new save fails with codes::timed_out.
    std::chrono::milliseconds write_limit = std::chrono::minutes(30);
    MayCommit may_commit = [] { return Status(Ok{}); };
    /// Copies tensors in device memory; the memory of saves is pinned for it. Not owned; must outlive the
    /// saver. Null: all tensors are in host memory.
    tensor::DeviceCopies* devices = nullptr;
    /// Called once if the memory of saves cannot be pinned for `devices`, which makes copies slower.
    std::function<void(std::string const& warning)> on_warning = {};
};

/// Options for a rank that has this number of cores to itself.
SaverOptions options_for_cores(int cores_per_rank);

/// The contents of a manifest besides its files and tensors. The manifest gets the chief's values.
/// steps_completed must be the same on all ranks.
struct SaveDescription {
    std::string run;
    std::uint64_t steps_completed = 0;
    UtcTime time;
    JsonValue metadata;
    /// A directory whose files become files of the checkpoint too, on the chief; empty: none. They are copied
    /// when all ranks have written, so it must stay until the save has ended.
    std::filesystem::path directory = {};
};

/// Whether the training continues after save() returns.
enum class TrainingAfterSave : std::uint8_t {
    continues,  ///< blocks are written as SaverOptions::write_while_copying says
    ends,       ///< blocks are written as soon as they are copied
};

/// Saves state while training continues. save() copies what this rank writes into memory that is already
/// allocated, and returns; threads write it. Tensors in device memory with NamedTensor::copy_later are copied
/// while the training continues. The first call of poll(), save() or finish() after all ranks
/// have written starts the commit, which the chief's threads do.
///
///     Saver saver(peers, store);
///     DET_TRY(saver.prepare(state));
///     for (...) { train(); DET_TRY(saver.save({.steps_completed = step}, state)); DET_TRY(saver.poll()); }
///     DET_TRY(saver.finish());
///
/// Every member that returns a Result or Status is collective: all ranks make the same calls in the same
/// order, and an error is the same on all ranks. Thread safety: one thread at a time. The destructor abandons
/// saves whose commit has not begun; their files stay until retention removes them.
class Saver {
public:
    /// \param peers,store not owned; must outlive the saver
    Saver(Peers& peers, Store& store, SaverOptions options = {});
    Saver(Saver&&) noexcept;
    Saver& operator=(Saver&&) noexcept;
    ~Saver();

    /// Allocates the memory for copies of such a state, so that the first save is as fast as later ones.
    /// \return codes::misuse as for save(); an error of the system if there is not enough memory
    Status prepare(State const& state);
    /// Blocks until the state is copied; then the state may change. Tensors in device memory with
    /// NamedTensor::copy_later may change, or be freed, only after wait_snapshot(), which the next save
    /// calls. If in_flight_max saves are in flight, first blocks until the oldest one ends.
    /// \return codes::misuse if a state is not valid, the states of the ranks do not fit together, ranks
    ///     differ in steps_completed, or the metadata is not a JSON object; codes::timed_out if the oldest
    ///     save did not end within SaverOptions::write_limit. Later failures of this save are in its
    ///     SaveOutcome
    Result<SaveStarted> save(SaveDescription const& description, State const& state,
                             TrainingAfterSave after = TrainingAfterSave::continues);
    /// Blocks until every tensor of the last save is copied. An error of the device is that of the save, in
    /// its SaveOutcome. Not collective.
    void wait_snapshot();
    /// Replaces SaverOptions::devices, for ranks that get their devices later. Not collective.
    void use_devices(tensor::DeviceCopies* devices);
    /// Begins to commit the saves that all ranks have written by now, and ends those that are committed. Does
    /// not wait for a disk. If saves are in flight, blocks until all ranks have called it. Cheap enough for
    /// every training step.
    /// \return the saves that have ended since the last call
    Result<std::vector<SaveOutcome>> poll();
    /// Blocks until all saves have ended.
    /// \return codes::timed_out if a save did not end within SaverOptions::write_limit
    Result<std::vector<SaveOutcome>> finish();

    /// \return the number of saves that have begun and not ended
    std::size_t in_flight() const;
    /// One of the buffers that prepare() has allocated, for use by load(). Empty after the first save, and
    /// without prepare().
    std::span<std::byte> spare_memory() const;

private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

}  // namespace det::checkpoint
