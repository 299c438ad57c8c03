#pragma once
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"

namespace det {

/// A Slurm where researcher has the digits example at home: digits.yaml, and its data in code/.
class DigitsCluster : public LoopbackCluster {
public:
    /// Arguments of a training on one node that does not end by itself.
    static constexpr char endless[] =
        "--template mpi --config resources.slots_per_trial=4 --config hyperparameters.epochs=1000000 ";

    explicit DigitsCluster(LoopbackOptions const& options);
    static LoopbackOptions with_plugin();

    /// `det-submit experiment create digits.yaml code` and the arguments. Returns its id.
    int create(std::string const& arguments) const;
    /// What the command answers with --json; it must succeed.
    nlohmann::json ask(std::string const& command) const;
    std::string state(int experiment) const;
    nlohmann::json trial(int experiment, std::size_t index = 0) const;
    void wait_for_state(int experiment, std::string const& wanted) const;
    /// Until the run trains: it has reported something.
    void wait_for_run(int experiment, std::size_t run) const;
    /// Waits for the end of an experiment, which must be COMPLETED.
    void finish(int experiment) const;
    /// Of its newest checkpoint.
    std::filesystem::path newest_checkpoint(int experiment) const;
    /// The share of test images that it got right at last.
    double accuracy(int experiment) const;

    std::filesystem::path root() const { return shared() / "det"; }
    std::filesystem::path directory(int experiment) const {
        return root() / "experiments" / std::to_string(experiment);
    }
};

/// What `digits compare` says of two checkpoints, wherever they lie. "" where they are the same network.
std::string difference(std::filesystem::path const& a, std::filesystem::path const& b);

}  // namespace det
