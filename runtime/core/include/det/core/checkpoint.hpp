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
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace det::checkpoint {
enum class AfterSave : std::uint8_t;
}  // namespace det::checkpoint

namespace det::core {

struct Session;

/// Saved state of the trial.
class Checkpoint {
public:
    explicit Checkpoint(Session& session);
    ~Checkpoint();
    Checkpoint(Checkpoint const&) = delete;
    Checkpoint& operator=(Checkpoint const&) = delete;

    /// A checkpoint that is being written.
    struct Draft {
        std::string uuid;
        std::filesystem::path directory;  // to fill; empty at first
        std::uint64_t steps_completed = 0;
        nlohmann::json metadata;
        std::chrono::steady_clock::time_point begun = {};
    };

    /// Chief only. It becomes a checkpoint by commit(), when everything is in its directory, or is discarded.
    Result<Draft> begin(std::uint64_t steps_completed, nlohmann::json metadata);
    /// After an error there is no checkpoint.
    Status commit(Draft const& draft);
    /// Removes what was written.
    Status discard(Draft const& draft);

    using Write = std::function<Status(std::filesystem::path const& directory)>;

    /// Chief only, all of it in one call: when `write` has returned Ok everything is synced and committed,
    /// and the UUID by which it is found again comes back. After an error there is no checkpoint.
    Result<std::string> store(std::uint64_t steps_completed, nlohmann::json metadata, Write const& write);

    /// Collective, after should_preempt(): the chief stores if there is time for it, as save_last() counts
    /// it. False, on all ranks, where there is not: the trial will go on from the checkpoint before. What
    /// goes wrong is an error on all.
    Result<bool> store_last(std::uint64_t steps_completed, nlohmann::json metadata, Write const& write);

    /// Collective: all ranks fill a directory, which is one for all where the storage is a file system, and
    /// their own elsewhere. The rules are those of upload().
    Result<std::string> store_sharded(std::uint64_t steps_completed, nlohmann::json metadata,
                                      Write const& write);

    /// Collective: one checkpoint of the files that ranks bring, each from a directory of its own. The same
    /// file may come from several ranks; different ones of a name are refused. Metadata of all ranks is
    /// merged.
    Result<std::string> upload(std::uint64_t steps_completed, checkpoint::Upload upload);

    using Outcomes = std::vector<checkpoint::SaveOutcome>;

    // Tensors, saved by all ranks together while training goes on. Collective: all ranks make the same calls.
    //
    // Where the context has devices (ContextOptions::devices) tensors may lie in memory of this rank's one.
    // They are copied behind the work on the stream that DistributedContext::use_stream named last: what
    // other streams do with them the program waits for itself.

    /// Returns when the state has been copied and may change again. It becomes a checkpoint later: `ended` of
    /// this and later calls says of which.
    Result<checkpoint::SaveStarted> save(std::uint64_t steps_completed, nlohmann::json metadata,
                                          checkpoint::State const& state);
    /// The last one, after should_preempt(): waits until everything is committed. Where less time is left
    /// than one and a half times what the last checkpoint took, the state is not saved any more: what was
    /// copied before is committed, and training goes on from there. Time is left until the earliest of: the
    /// trial's preemption_timeout, the partition's GraceTime (KillWait where it has none) after a notice of
    /// Slurm's, the end of the job as SLURM_JOB_END_TIME has it.
    Result<Outcomes> save_last(std::uint64_t steps_completed, nlohmann::json metadata,
                               checkpoint::State const& state);
    /// Makes memory ready for saves of such a state, and pins it where tensors lie on a device: otherwise the
    /// first ones take longer than those that follow.
    Status prepare(checkpoint::State const& state);
    /// Commits what all ranks have written by now. Waits for no disk: for every step.
    Result<Outcomes> poll();
    /// Waits until every save has ended: before the program does, or after should_preempt().
    Result<Outcomes> finish();
    /// Fills each rank's parts of the state from the newest checkpoint of this trial, however many ranks have
    /// saved it; nothing at its first start.
    Result<std::optional<checkpoint::Loaded>> load(
        checkpoint::State const& state, checkpoint::OnDamage on_damage = checkpoint::OnDamage::fail);

    /// The newest checkpoint of this trial, from which it is to go on; nothing at its first start.
    std::optional<std::string> latest() const;
    /// Its directory, once every file was found as its manifest says. For reading only.
    Result<std::filesystem::path> restore_path(std::string const& uuid) const;
    Result<CheckpointManifest> manifest(std::string const& uuid) const;

private:
    struct Tensors;
    Tensors& tensors();
    Result<checkpoint::SaveStarted> begin_save(std::uint64_t steps_completed, nlohmann::json metadata,
                                                checkpoint::State const& state, checkpoint::AfterSave then);
    Status announce(std::string const& uuid, std::uint64_t steps_completed);
    Status report(CheckpointManifest const& manifest);
    Status report(Outcomes const& outcomes);
    Result<std::string> upload_as(std::string const& uuid, std::uint64_t steps_completed,
                                  checkpoint::Upload const& upload);
    /// What the chief finds, on all ranks.
    Result<bool> has_time_to_save();
    void measure(std::chrono::steady_clock::time_point begun);

    Session& session_;
    std::unique_ptr<Tensors> tensors_;               // once they are saved or loaded
    std::optional<std::chrono::microseconds> cost_;  // of the last that was committed
};

}  // namespace det::core
