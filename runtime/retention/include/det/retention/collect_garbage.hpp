#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>
#include <det/retention/inventory.hpp>
#include <det/retention/remains.hpp>

#include <functional>

namespace det::retention {

enum class Act { remove, only_say };

struct GcOptions {
    GcPolicy policy = {};
    UtcTime now = {};
    Act act = Act::remove;
    /// Whether a trial will never run again.
    std::function<bool(std::uint32_t trial)> is_over = [](std::uint32_t) { return true; };
};

struct GcReport {
    std::vector<KnownCheckpoint> kept;
    std::vector<KnownCheckpoint> removed;  // or to be removed
    std::vector<Remains> remains;          // of what was never committed: removed, or to be
    std::vector<Error> failures;           // what could not be removed
};

/// Removes what the policy does not keep, and remains of what was never committed; can be done again at any
/// time. codes::wrong_state while somebody else does the same.
Result<GcReport> collect_garbage(RootLayout const& root, ExperimentLayout const& experiment,
                                 checkpoint::Store& store, GcOptions const& options);

/// The newest checkpoint of the trial that can be read, without which it would begin anew. Nothing where it
/// has none. Reads it; a store that can't be read is an error.
Result<std::optional<std::string>> find_lifeline(std::span<KnownCheckpoint const> checkpoints,
                                                 std::uint32_t trial, checkpoint::Store const& store);

}  // namespace det::retention
