#pragma once
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"

namespace det {

/// A LoopbackCluster with the digits example in the home of researcher: digits.yaml, and its data in code/.
class DigitsCluster : public LoopbackCluster {
public:
    /// Arguments for a training on one node that never ends by itself.
    static constexpr char endless[] =
        "--template mpi --config resources.slots_per_trial=4 --config searcher.max_length.epochs=1000000 ";

    explicit DigitsCluster(LoopbackOptions const& options);
    static LoopbackOptions with_plugin();

    /// Runs `det-submit experiment create digits.yaml code` with the arguments. Returns the experiment's id.
    /// `assignments` of variables stand before the command. The ranks find each other without PMIx if this
    /// Slurm is built without it, as Debian's package of 26.05 is.
    int create(std::string const& arguments, std::string const& assignments = "") const;
    /// Runs a det-submit command with --json, which must succeed. Returns its output.
    nlohmann::json ask(std::string const& command, std::string const& assignments = "") const;
    std::string state(int experiment) const;
    nlohmann::json trial(int experiment, std::size_t index = 0) const;
    void wait_for_state(int experiment, std::string const& wanted) const;
    /// Waits until the log of the run shows an epoch.
    void wait_for_run(int experiment, std::size_t run) const;
    /// Waits until the experiment is COMPLETED. Any other final state fails the test.
    void finish(int experiment) const;
    /// The directory of the newest checkpoint.
    std::filesystem::path newest_checkpoint(int experiment) const;
    /// The last reported validation accuracy.
    double accuracy(int experiment) const;

    std::filesystem::path root() const { return shared() / "det"; }
    std::filesystem::path directory(int experiment) const {
        return root() / "experiments" / std::to_string(experiment);
    }

private:
    bool has_pmix_ = false;
};

/// Compares two checkpoint directories with `digits compare`. Returns "" if the networks are equal, else its
/// output.
std::string difference(std::filesystem::path const& a, std::filesystem::path const& b);

}  // namespace det
