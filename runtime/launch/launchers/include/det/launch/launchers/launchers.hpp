#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/cluster_info.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::launchers {

/// What a launcher needs to know about the run and about the node that it runs on.
struct LaunchContext {
    RendezvousInfo rendezvous;
    JsonValue config;  // the trial's configuration; empty outside an experiment
    std::optional<std::string> network_interface;
    Environment environment;
    std::filesystem::path run_dir;                // DET_RUN_DIR
    std::filesystem::path wrap_rank, det_launch;  // absolute paths of these programs
    /// torch before 2.0 on Python 3.11 or newer fails at every start unless some output is redirected.
    bool torch_needs_redirects = false;
    /// torch 2.4 and newer asks for libuv, and its torchrun fails at every start if it was built without.
    bool torch_lacks_libuv = false;
};

struct LaunchedProcess {
    std::vector<std::string> argv;
    Environment environment;
    friend bool operator==(LaunchedProcess const&, LaunchedProcess const&) = default;
};

struct PlannedFile {
    std::filesystem::path path;
    std::string text;
    friend bool operator==(PlannedFile const&, PlannedFile const&) = default;
};

/// What det-launch does on this node.
struct LaunchPlan {
    std::vector<LaunchedProcess> processes;
    /// If true, this node starts no processes, because the chief's node starts its ranks. det-launch waits
    /// until the launch has ended, which keeps the run's directory on this node.
    bool waits_for_chief = false;
    std::vector<std::string> waiting_nodes;  // nodes to which the chief announces the end
    /// If true, a failed command of det-rsh on another node fails the launch, because the launcher would wait
    /// for the other commands. If false, such a command may be a probe.
    bool fails_with_remote_commands = false;
    std::vector<PlannedFile> files;  // written before the processes start
    /// A directory, first in PATH, in which `ssh` is a link to det-rsh, so that launchers use det-rsh.
    std::optional<std::filesystem::path> remote_shell;
    std::optional<std::uint16_t> port;  // port of the ranks' rendezvous; it must be free on this node
};

/// A launcher, called by `det-launch NAME [[OVERRIDE...] --] (--trial MODULE:CLASS | CMD...)`. Its plan
/// function is pure.
struct Launcher {
    std::string_view name;
    std::string_view help;
    Result<LaunchPlan> (*plan)(std::vector<std::string> const& arguments, LaunchContext context);
};

std::span<Launcher const> all_launchers();
Launcher const* find_launcher(std::string_view name);

Result<LaunchPlan> plan_torch_distributed(std::vector<std::string> const& arguments, LaunchContext context);
Result<LaunchPlan> plan_horovod(std::vector<std::string> const& arguments, LaunchContext context);
Result<LaunchPlan> plan_deepspeed(std::vector<std::string> const& arguments, LaunchContext context);
Result<LaunchPlan> plan_tensorflow(std::vector<std::string> const& arguments, LaunchContext context);
Result<LaunchPlan> plan_jax(std::vector<std::string> const& arguments, LaunchContext context);
Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, LaunchContext context);
/// Plans `det-launch CMD...`: det-launch itself starts one process of CMD per slot of this node.
Result<LaunchPlan> plan_processes(std::vector<std::string> const& arguments, LaunchContext context);

/// Whether plan_torch_distributed() may start torchrun, and so needs the answer of torch_query_script. It
/// does not with slurm.warm_start and without options of torchrun: torchrun would import torch before it
/// starts the ranks, whose interpreters wait.
bool uses_torchrun(std::vector<std::string> const& arguments, Environment const& environment);

/// A Python program that prints the versions of Python and torch, and `no-libuv` if that torch asks for libuv
/// and lacks it. Importing torch takes a second: only a torch that no installer of wheels has installed is
/// imported, because the wheels of Linux have libuv.
inline constexpr std::string_view torch_query_script = R"(
import sys
from importlib.metadata import distribution
torch = distribution("torch")
words = [*sys.version_info[:2], torch.version]
is_wheel = (torch.read_text("INSTALLER") or "").strip() in ("pip", "uv", "poetry")
if not is_wheel and [int(part) for part in torch.version.split(".")[:2]] >= [2, 4]:
    from torch.distributed import TCPStore
    try:
        TCPStore("localhost", 0, is_master=True, wait_for_workers=False, use_libuv=True)
    except RuntimeError as problem:
        words += ["no-libuv"] if "libuv" in str(problem) else []
print(*words)
)";
/// LaunchContext::torch_needs_redirects and torch_lacks_libuv, from the output of torch_query_script.
bool needs_redirects(std::string_view answer);
bool lacks_libuv(std::string_view answer);

}  // namespace det::launch::launchers
