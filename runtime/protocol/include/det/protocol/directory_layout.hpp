#pragma once
#include <det/protocol/experiment_places.hpp>
#include <det/protocol/ids.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace det {

/// The paths of files below a root. Pure: does not access files, unless it was made for_reading().
class RootLayout {
public:
    explicit RootLayout(std::filesystem::path root) : root_(std::move(root)) {}

    std::filesystem::path const& path() const { return root_; }
    std::filesystem::path templates() const { return root_ / "templates"; }
    std::filesystem::path contexts() const { return root_ / "contexts"; }
    std::filesystem::path context(std::string const& sha256) const {
        return contexts() / (sha256 + ".tar.zst");
    }
    std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
    std::filesystem::path experiments() const { return root_ / "experiments"; }
    /// The directory of an experiment. A packed one has only its file `pack` there.
    std::filesystem::path experiment(ExperimentId id) const { return experiments() / to_string(id); }
    /// The same root for a program that reads: an ExperimentLayout of a packed experiment leads to files that
    /// `places` has unpacked.
    RootLayout for_reading(std::shared_ptr<ExperimentPlaces const> places) const {
        RootLayout other(*this);
        other.places_ = std::move(places);
        return other;
    }
    /// Null if the root was not made for_reading().
    std::shared_ptr<ExperimentPlaces const> const& places() const { return places_; }
    /// Where the files of an experiment are read. experiment() if that fails: journal::require_readable()
    /// returns the error.
    std::filesystem::path experiment_to_read(ExperimentId id) const {
        auto const directory = experiment(id);
        return places_ ? places_->find(directory).value_or(directory) : directory;
    }
    /// A directory for each array whose tasks have called `det-launch script`: its file `experiment` has the
    /// number of their experiment.
    std::filesystem::path script_arrays() const { return root_ / "script-arrays"; }
    /// The model registry: see model_registry/registry.hpp.
    std::filesystem::path models() const { return root_ / "models"; }
    /// Nodes on which runs failed: see journal/bad_nodes.hpp.
    std::filesystem::path bad_nodes() const { return root_ / "bad-nodes"; }

private:
    std::filesystem::path root_;
    std::shared_ptr<ExperimentPlaces const> places_;
};

class RunLayout {
public:
    explicit RunLayout(std::filesystem::path run) : run_(std::move(run)) {}

    std::filesystem::path const& path() const { return run_; }
    /// The journal of the supervisor: the start and end of the run, its allocation and decisions of the
    /// search.
    std::filesystem::path supervisor_journal() const { return run_ / "life"; }
    /// The journal of the chief: metrics, checkpoints and reports of the program.
    std::filesystem::path chief_journal() const { return run_ / "journal"; }
    /// The journal of the metrics that a rank other than the chief reports; made by its first report.
    std::filesystem::path rank_journal(Rank rank) const {
        return run_ / ("journal-" + std::to_string(rank.value));
    }
    /// Created when the supervisor asks the ranks to save and stop. Contains the reason as one word.
    std::filesystem::path stop_request() const { return run_ / "asked"; }
    /// Created when the supervisor asks the wrappers for the stacks of the ranks, because the run hangs.
    std::filesystem::path hung() const { return run_ / "hung"; }
    /// Exists if the supervisor gave up the run's step on a node that did not answer: tasks may still run
    /// there.
    std::filesystem::path abandoned() const { return run_ / "abandoned"; }
    /// Created by the wrapper of the first task when Slurm's notice comes. Contains the name of the signal.
    std::filesystem::path preempt_notice() const { return run_ / "noticed"; }
    /// The name of the node of rank 0, if srun starts the ranks. Created by the wrapper of rank 0.
    std::filesystem::path chief_host() const { return run_ / "chief"; }
    /// Created by `scontrol requeue` inside a container. Containers have no Slurm commands; there,
    /// det-submit's script `scontrol` asks the supervisor to requeue the job.
    std::filesystem::path requeue_request() const { return run_ / "requeue"; }
    /// Created by a program that has finished its work, so that an end after a notice is no preemption.
    std::filesystem::path done() const { return run_ / "done"; }
    /// The exit code of the first failure, recorded by the wrapper of the rank or by det-launch. Failures of
    /// ranks that had lost another rank do not count. Slurm reports only the highest exit code of all nodes.
    std::filesystem::path first_failure() const { return run_ / "first_failure"; }
    /// Created by the supervisor when the wrapper of a node was killed: it records no failure.
    std::filesystem::path killed_node() const { return run_ / "killed-node"; }
    /// Written by a rank that finds a checkpoint damaged: says what is damaged.
    std::filesystem::path damaged_checkpoint(std::string const& uuid) const {
        return run_ / (std::string(damaged_prefix) + uuid);
    }
    static constexpr std::string_view damaged_prefix = "damaged-";
    /// The rendezvous file of ranks on several nodes: the secret of the run, and the chief's address once it
    /// listens.
    std::filesystem::path rendezvous() const { return run_ / "rendezvous"; }
    std::filesystem::path node_log(int node) const {
        return run_ / ("node-" + std::to_string(node) + ".log");
    }
    /// The heartbeat file of a node that is not connected to the supervisor: wrappers touch it while tasks of
    /// the run exist there, and remove it when they end.
    std::filesystem::path heartbeat(int node) const { return heartbeat_beside(node_log(node)); }
    static std::filesystem::path heartbeat_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(heartbeat_suffix);
    }
    static constexpr char heartbeat_suffix[] = ".pulse";
    /// The tasks on this node have ended in order, and the supervisor has not confirmed that it knows. Does
    /// not count while the node has a heartbeat file.
    std::filesystem::path node_left(int node) const { return left_beside(node_log(node)); }
    static std::filesystem::path left_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(left_suffix);
    }
    static constexpr char left_suffix[] = ".left";
    /// Written by the supervisor at the end of a run: tasks on nodes without a heartbeat file may live.
    /// Removed when they have ended. Has the suffix of heartbeat files.
    std::filesystem::path living_tasks() const { return run_ / "tasks.pulse"; }
    /// The failures of ranks of the node, next to its log.
    static std::filesystem::path failures_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(".ends");
    }
    /// The CPUs of the ranks of the node, next to its log.
    static std::filesystem::path placements_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(".ranks");
    }
    /// The journal with the system metrics of a node.
    std::filesystem::path node_metrics(int node) const { return metrics_beside(node_log(node)); }
    static std::filesystem::path metrics_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(".metrics");
    }
    /// The journal that says how long the ranks of a node wait for others.
    std::filesystem::path node_waits(int node) const { return waits_beside(node_log(node)); }
    static std::filesystem::path waits_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(".waits");
    }
    /// How much the run uses the GPUs or CPUs of a node, for slurm.idle_timeout: see node_usage.hpp.
    std::filesystem::path node_usage(int node) const { return usage_beside(node_log(node)); }
    static std::filesystem::path usage_beside(std::filesystem::path node_log) {
        return node_log.replace_extension(".usage");
    }

private:
    std::filesystem::path run_;
};

/// One version of the files that a trial keeps across its runs. A trial works in its newest generation. If an
/// earlier run may still be running, the next run copies the files into a new generation, so that the two
/// runs do not write the same files.
class GenerationLayout {
public:
    explicit GenerationLayout(std::filesystem::path generation) : generation_(std::move(generation)) {}

    std::filesystem::path const& path() const { return generation_; }
    /// The shared working directory.
    std::filesystem::path work() const { return generation_ / "work"; }
    /// The directories of slurm.persist.
    std::filesystem::path persist() const { return generation_ / "persist"; }
    /// DET_TRIAL_DIR.
    std::filesystem::path files() const { return generation_ / "files"; }

private:
    std::filesystem::path generation_;
};

class TrialLayout {
public:
    explicit TrialLayout(std::filesystem::path trial, std::uint32_t revision = 0)
        : trial_(std::move(trial)), suffix_(revision == 0 ? "" : "-" + std::to_string(revision)) {}

    std::filesystem::path const& path() const { return trial_; }
    std::filesystem::path desired() const { return trial_ / ("desired" + suffix_); }
    /// If tasks claim trials: the array task that runs the trial, one line like "123_4".
    std::filesystem::path claimed() const { return trial_ / ("claimed" + suffix_); }
    /// If the trial replaces one whose hyperparameters were invalid: the number of that trial, one line like
    /// "3".
    std::filesystem::path replaces() const { return trial_ / "replaces"; }
    /// The directory of the event files that the program writes for TensorBoard.
    std::filesystem::path tensorboard() const { return trial_ / "tensorboard"; }
    /// The directory of the event files that slurm.tensorboard makes of the reported metrics.
    std::filesystem::path event_files() const { return tensorboard() / "reported"; }
    std::filesystem::path runs() const { return trial_ / "runs"; }
    std::filesystem::path generations() const { return trial_ / "generations"; }
    /// The generation that run `number` has created.
    GenerationLayout generation(std::uint32_t number) const {
        return GenerationLayout(generations() / std::to_string(number));
    }
    RunLayout run(std::uint32_t number) const { return RunLayout(runs() / std::to_string(number)); }

private:
    std::filesystem::path trial_;
    std::string suffix_;
};

/// The paths of an experiment in one of its revisions. A continuation starts a new revision with its own
/// `desired` and `claimed` files and its own configuration.
class ExperimentLayout {
public:
    explicit ExperimentLayout(std::filesystem::path experiment) : experiment_(std::move(experiment)) {}
    ExperimentLayout(RootLayout const& root, ExperimentId id) : experiment_(root.experiment_to_read(id)) {}

    /// \param revision a value of ExperimentSpec::revision().
    ExperimentLayout at_revision(std::uint32_t revision) const {
        ExperimentLayout other(*this);
        other.revision_ = revision;
        return other;
    }

    std::filesystem::path const& path() const { return experiment_; }
    /// Describes the current revision and lists all revisions. All revisions share this file.
    std::filesystem::path spec() const { return experiment_ / "spec.json"; }
    std::filesystem::path revisions() const { return experiment_ / "revisions"; }
    /// The directory of the files of a revision.
    std::filesystem::path revision_path() const {
        return revision_ == 0 ? experiment_ : revisions() / std::to_string(revision_);
    }
    std::filesystem::path submitted() const { return revision_path() / "submitted.yaml"; }
    std::filesystem::path config() const { return revision_path() / "config.yaml"; }
    std::filesystem::path secrets() const { return revision_path() / "secrets.json"; }
    /// The batch script of the array whose first task begins with `first_trial`.
    std::filesystem::path script(std::uint32_t first_trial = 0) const {
        if (first_trial == 0) return revision_path() / "script.sbatch";
        return revision_path() / ("script-" + std::to_string(first_trial) + ".sbatch");
    }
    /// The copy of the user's batch script that the experiment runs (`experiment create job.sbatch`). It has
    /// the name of Slurm's own copy, which scripts see as $0.
    std::filesystem::path batch_script() const { return experiment_ / "slurm_script"; }
    std::filesystem::path slurm_output() const { return experiment_ / "slurm-%A_%a.out"; }
    /// The same for an array task like "123_4".
    std::filesystem::path slurm_output(std::string const& job) const {
        return experiment_ / ("slurm-" + job + ".out");
    }
    std::filesystem::path events() const { return experiment_ / "events"; }
    std::filesystem::path desired() const { return revision_path() / "desired"; }
    /// The file that replaces all others once the experiment is packed.
    std::filesystem::path pack() const { return experiment_ / pack_name; }
    static constexpr std::string_view pack_name = "pack";
    /// Exists after the experiment was deleted, so that its number is not reused.
    std::filesystem::path deleted() const { return experiment_ / "deleted"; }
    std::filesystem::path trials() const { return experiment_ / "trials"; }
    /// The directory whose file names are the entries of a rung: the trials that have arrived there.
    std::filesystem::path rung(std::uint32_t bracket, std::uint32_t rung) const {
        return experiment_ / "rungs" / (std::to_string(bracket) + "-" + std::to_string(rung));
    }
    TrialLayout trial(std::uint32_t index) const {
        return TrialLayout(trials() / std::to_string(index), revision_);
    }

private:
    std::filesystem::path experiment_;
    std::uint32_t revision_ = 0;
};

}  // namespace det
