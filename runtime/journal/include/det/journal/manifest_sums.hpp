#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::journal {

/// The event of a checkpoint whose manifest was replaced, because files were removed from it: `uuid
/// manifest_sha256`.
inline constexpr std::string_view checkpoint_changed_event = "checkpoint-changed";

/// What the journals of a root have recorded about the manifests of checkpoints. Reads journals when they are
/// needed, and again after they have grown. Copies share what was read. Thread-safe.
class ManifestSums {
public:
    /// \param experiment the only one whose journals are searched for a checkpoint that the journal of the
    ///     given run does not know; nullopt: all
    ManifestSums(RootLayout root, std::optional<ExperimentId> experiment);

    /// Looks for a checkpoint in the journal of the run that its manifest names, and then, because the
    /// manifest may not be true, in those of the other runs of the experiment, or of all experiments.
    ///
    /// \param run "7.3.2"; empty: not known
    /// \return the SHA-256 sums that the manifest may have. Empty if no journal has recorded one: none knows
    /// the
    ///     checkpoint, or an older program has written the record. An error if the journal of the run cannot
    ///     be read
    Result<std::vector<std::string>> find(std::string const& uuid, std::string const& run) const;

private:
    struct Cache;
    std::shared_ptr<Cache> cache_;
};

}  // namespace det::journal
