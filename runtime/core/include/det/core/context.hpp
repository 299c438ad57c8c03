#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/core/checkpoint.hpp>
#include <det/core/info.hpp>
#include <det/core/preempt.hpp>
#include <det/core/rank_identity.hpp>
#include <det/core/searcher.hpp>
#include <det/core/train.hpp>
#include <det/foundation/clock.hpp>
#include <det/protocol/json_value.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace det::collectives::device {
class DeviceBackend;
}

namespace det::core {

/// Which memory collectives and checkpoints accept. none: host memory only. nccl: also memory of the CUDA
/// device: checkpoints need CUDA's driver for it, collectives NCCL too. rccl: also memory of the AMD GPU,
/// with HIP and RCCL.
enum class Devices { none, nccl, rccl };

struct ContextOptions {
    Environment environment = Environment::of_this_process();
    /// Directory of the checkpoints outside of an experiment.
    std::filesystem::path checkpoint_path = "checkpoints";
    /// Not owned; must outlive the context. nullptr: the system clock.
    Clock* clock = nullptr;
    /// Called with a warning if this rank has waited a minute for other ranks or its device (once per wait),
    /// or if copies of device tensors use a slow path; on the chief also if reports are dropped, or if
    /// reports or metrics for TensorBoard can't be written. The first failure of a save that is repeated is a
    /// warning too. Warnings about reports and saves may come from threads of this library. Empty: warnings
    /// go to stderr.
    std::function<void(std::string const& warning)> on_warning = {};
    /// Must be the same on all ranks.
    PreemptMode preempt_mode = PreemptMode::workers_ask_chief;
    /// Must be the same on all ranks. With nccl and rccl each rank must have made its device the current
    /// one.
    Devices devices = Devices::none;
    /// Replaces NCCL in tests. nullptr: NCCL.
    std::shared_ptr<collectives::device::DeviceBackend> device_backend = nullptr;
    /// A section checkpoint_storage as in an experiment's configuration. It replaces that of the experiment.
    /// An empty object: the storage of the experiment; outside of an experiment, checkpoint_path.
    JsonValue checkpoint_storage = {};
};

/// The numbers of a rank, given by the program instead of read from the environment.
struct RankNumbers {
    RankIdentity identity;
    /// A name that is the same on all ranks, and different for programs of one user that run on a node at the
    /// same time. Empty: the name comes from the launcher's environment variables.
    std::string group = "default";
    /// An address or a host name of the chief's node, the same on all ranks. With it ranks of several nodes
    /// find each other outside of a run, by a file in a directory that the nodes share (below
    /// DET_RENDEZVOUS_DIR, else ~/.cache/det-submit/ranks). Empty: they need a run or MPI.
    std::string chief_address = {};
};

/// The Core API for training code. In a run it finds its experiment, its peers and its journal through the
/// environment. Started by hand it is a single rank, and reports are discarded. Only train() may be used by
/// several threads at a time, but not during join_run(). All ranks must make collective calls in the same
/// order.
class Context {
public:
    /// Connects to the other ranks. Collective; blocks until all ranks have called it.
    ///
    /// \param options the defaults suit a training program.
    /// \return the context, or the Error why ranks can't be connected or the run's files can't be read.
    static Result<Context> init(ContextOptions options = {});

    /// Connects ranks that the program has numbered, in a run or outside. Collective; blocks until all ranks
    /// have called it. The context has collectives, and behaves as outside of a run until join_run().
    static Result<Context> connect(RankNumbers const& numbers, ContextOptions const& options = {});
    /// Gives a context of connect() its run: information, journal, checkpoints and preemption. Collective: an
    /// error of one rank is an error on all ranks. codes::misuse if the context has joined its run already.
    Status join_run(ContextOptions const& options = {});

    Context(Context&&) noexcept;
    Context& operator=(Context&&) noexcept;
    ~Context();

    /// Makes collectives and checkpoints accept the memory of this rank's device, as `devices` of the options
    /// does. Collective; an error of one rank is an error on all ranks. Does nothing if the context
    /// has devices already. No operation may be in progress.
    /// \param devices none does nothing
    Status add_devices(Devices devices);
    /// A context of the ranks of this node, or of one rank of each node: DistributedContext::local_ranks()
    /// and cross_ranks(). It behaves as outside of a run. Not collective. Several contexts of the same ranks
    /// share one order of calls.
    Result<Context> local_ranks();
    Result<Context> cross_ranks();

    collectives::DistributedContext& distributed();
    Train& train();
    Checkpoint& checkpoint();
    Preempt& preempt();
    Searcher& searcher();
    /// The run, owned by the context; nullptr outside of a run.
    Info const* info() const;
    /// The trial's hyperparameters; an empty object outside of an experiment.
    nlohmann::json const& hyperparameters() const;

    /// Must be the last call. Collective; blocks until all saves are finished and all ranks have called it. A
    /// rank that fails should not call it: the destructor disconnects without waiting, and the launcher ends
    /// the other ranks.
    ///
    /// \return the error of the first failed save that no earlier call has returned, of the journal, or of
    ///     the connection.
    Status close();

private:
    struct Parts;
    explicit Context(std::unique_ptr<Parts> parts);
    Context make_subset(collectives::DistributedContext ranks) const;
    std::unique_ptr<Parts> parts_;
};

}  // namespace det::core
