#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/core/checkpoint.hpp>
#include <det/core/info.hpp>
#include <det/core/preempt.hpp>
#include <det/core/train.hpp>
#include <det/foundation/clock.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace det::collectives::device {
class DeviceBackend;
}

namespace det::core {

/// What buffers of collectives and tensors of checkpoints may be: memory of this process, or of its CUDA
/// device too, by NCCL.
enum class Devices { none, nccl };

struct ContextOptions {
    Environment environment = Environment::of_this_process();
    /// Where checkpoints go outside of an experiment.
    std::filesystem::path checkpoint_path = "checkpoints";
    /// Not owned; must outlive the context. Null: the system's.
    Clock* clock = nullptr;
    /// Is told when a rank has waited for another for a minute, and for which: once in each operation. And
    /// where copies of device tensors are slower than they could be. Empty: standard error is.
    std::function<void(std::string const& warning)> on_warning = {};
    /// The same on all ranks.
    PreemptMode preempt_mode = PreemptMode::workers_ask_chief;
    /// The same on all ranks. With nccl each rank has to have made its own device the current one.
    Devices devices = Devices::none;
    /// What stands for NCCL; null: it does itself. A seam for tests.
    std::shared_ptr<collectives::device::DeviceBackend> device_backend = nullptr;
};

/// The Core API: what training code has of the run it is part of. On a cluster it finds its experiment, its
/// peers and its journal by the environment; started by hand it is a single rank, and reports go nowhere.
/// Threads: one at a time, the same on all ranks.
class Context {
public:
    static Result<Context> init(ContextOptions options = {});

    Context(Context&&) noexcept;
    Context& operator=(Context&&) noexcept;
    ~Context();

    collectives::DistributedContext& distributed();
    Train& train();
    Checkpoint& checkpoint();
    Preempt& preempt();
    /// Null outside of a run.
    Info const* info() const;
    /// The trial's hyperparameters; an empty object outside of an experiment.
    nlohmann::json const& hyperparameters() const;

    /// Collective, the last call: saves that are under way end first, and nobody ends before everybody's work
    /// is done. A context that is destroyed
    /// without it leaves its peers without a word: a rank that fails alone ends, and the launcher ends the
    /// others.
    Status close();

private:
    struct Parts;
    explicit Context(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace det::core
