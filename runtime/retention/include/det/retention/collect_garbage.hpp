#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/retention/list_checkpoints.hpp>

#include <functional>
#include <string_view>

namespace det::retention {

/// The file in an experiment's directory that exists while its checkpoints are being removed.
inline constexpr std::string_view gc_lock_name = "gc.lock";

enum class GcMode { remove, dry_run };

struct GcOptions {
    GcPolicy policy = {};
    UtcTime now = {};
    GcMode mode = GcMode::remove;
    /// Whether a trial will never run again.
    std::function<bool(std::uint32_t trial)> is_over = [](std::uint32_t) { return true; };
};

struct GcReport {
    std::vector<KnownCheckpoint> kept;
    std::vector<KnownCheckpoint> removed;            // removed, or with dry_run: to be removed
    std::vector<UncommittedCheckpoint> uncommitted;  // never committed; removed, or to be removed
    std::vector<Error> failures;                     // one for each checkpoint that could not be removed
};

/// Removes the checkpoints that the policy does not keep, and the files of checkpoints that were never
/// committed. Always keeps checkpoints that an experiment of this root starts from, those in the model
/// registry, the newest valid checkpoint of a trial that may still run, and uncommitted ones of the newest
/// run of such a trial. May be repeated at any time. Errors of removing single checkpoints are in
/// GcReport::failures. \return codes::wrong_state if another process has begun to remove checkpoints of the
/// experiment within the
///     last hour and has not finished; an error of a journal or the store, before anything is removed
Result<GcReport> collect_garbage(RootLayout const& root, ExperimentLayout const& experiment,
                                 checkpoint::Store& store, GcOptions const& options);

}  // namespace det::retention
