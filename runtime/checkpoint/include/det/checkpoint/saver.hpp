#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/state.hpp>
#include <det/checkpoint/store.hpp>
#include <det/tensor/device_copies.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace det::checkpoint {

struct SaverOptions {
    /// Saves that may be under way at once. Each has a copy of this rank's part of the state in memory.
    std::size_t in_flight_max = 2;
    int writer_threads = 3;
    int copy_threads = 1;  // more than one helps where a core can't fill the memory bus
    /// Blocks are written as soon as they are copied. For ranks with several cores: of a single one it would
    /// take from the copy, which holds up the training.
    bool write_while_copying = false;
    /// What has a checksum of its own and is written in one call: a multiple of 4096.
    std::uint64_t block_size_bytes = std::uint64_t{4} << 20;
    /// A shard that is byte for byte as in the save before is not written again: both checkpoints have the
    /// one file (Store::share). Needs two saves in flight; a file that is damaged is so in all that share it.
    bool share_unchanged = false;
    /// No rank writes longer at one checkpoint.
    std::chrono::milliseconds write_limit = std::chrono::minutes(30);
    MayCommit may_commit = [] { return Status(Ok{}); };
    /// Where tensors may lie too; the copies that saves have in memory are pinned for it. Not owned. Null:
    /// all tensors lie in memory of the process.
    tensor::DeviceCopies* devices = nullptr;
    /// Is told, once, where that memory could not be pinned: copies are slower then.
    std::function<void(std::string const& warning)> on_warning = {};
};

/// What of the options follows from the cores that a rank has for itself.
SaverOptions options_for_cores(int cores_per_rank);

/// Saves state while training goes on. save() copies what this rank is to write into memory that is ready for
/// it, and returns; threads write it, and when all ranks have written, the chief's commit it.
///
/// Every member is collective: all ranks make the same calls in the same order, and get the same errors.
/// Threads: one at a time. Destroying a saver gives up what has not been committed.
class Saver {
public:
    Saver(Peers& peers, Store& store, SaverOptions options = {});
    Saver(Saver&&) noexcept;
    Saver& operator=(Saver&&) noexcept;
    ~Saver();

    /// What a manifest says beside the tensors; the chief's counts, but for steps_completed, which is the
    /// same on all ranks.
    struct About {
        std::string run;
        std::uint64_t steps_completed = 0;
        UtcTime time;
        Json metadata = Json::object();
    };

    /// A save that has come to its end.
    struct Outcome {
        std::string uuid;
        std::uint64_t steps_completed = 0;
        std::optional<Error> error;                  // nothing: it is a checkpoint
        std::optional<CheckpointManifest> manifest;  // the chief's
    };

    struct Begun {
        std::string uuid;
        std::chrono::microseconds
            waited{};  // for an earlier save to end: the disk is slower than the training
        std::chrono::microseconds copied{};  // how long the copy took
        std::vector<Outcome> ended;          // earlier saves
    };

    /// Makes the memory ready that saves of such a state will take, so that the first is as quick as all.
    Status prepare(State const& state);
    /// What the cores are wanted for when save() returns.
    enum class Then : std::uint8_t {
        train,   // what can wait is left for later
        finish,  // nothing: as soon as something is there to write, it is written
    };
    /// Returns when the state may change again.
    Result<Begun> save(About const& about, State const& state, Then then = Then::train);
    /// Goes on with saves that can go on, without waiting for a disk. Call it often: each step, say.
    Result<std::vector<Outcome>> poll();
    /// Waits for the end of all saves.
    Result<std::vector<Outcome>> finish();

    /// Saves that have begun and not ended.
    std::size_t in_flight() const;
    /// What prepare() made ready, as long as no save has needed it: for load(). Empty: nothing.
    std::span<std::byte> spare_memory() const;

private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

}  // namespace det::checkpoint
