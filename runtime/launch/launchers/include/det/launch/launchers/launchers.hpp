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

/// What a launcher knows of the run, and of the node that it is called on.
struct LaunchContext {
    RendezvousInfo rendezvous;
    Json config = Json::object();  // of the trial; empty outside an experiment
    std::optional<std::string> network_interface;
    Environment environment;
    std::filesystem::path run_dir;                // DET_RUN_DIR
    std::filesystem::path wrap_rank, det_launch;  // our programs, absolute
    /// torch before 2.0 on Python 3.11 or newer fails at every start, unless some output is redirected.
    bool torch_needs_redirects = false;
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

/// What to do on this node.
struct LaunchPlan {
    std::vector<LaunchedProcess> processes;
    /// No processes: the chief's node starts this node's ranks too. We stay until it has ended, and with us
    /// what the run has on this node.
    bool waits_for_chief = false;
    std::vector<std::string> waiting_nodes;  // those that do, for the chief to tell
    /// Each command that det-rsh runs on another node is a share of the launch, and none a probe: if one
    /// fails, it has failed. Its launcher would wait for the others.
    bool fails_with_remote_commands = false;
    std::vector<PlannedFile> files;  // to be written before
    /// Where programs that look for `ssh` shall find det-rsh: a folder of the run, the first in their PATH.
    std::optional<std::filesystem::path> remote_shell;
    std::optional<std::uint16_t> port;  // that the ranks will meet at, and that must be free here
};

/// `det-launch NAME [[OVERRIDE... ] --] (--trial MODULE:CLASS | CMD...)`. Each plan is pure.
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
Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, LaunchContext context);
/// `det-launch CMD...`: a process of CMD per slot of this node, started by ourselves.
Result<LaunchPlan> plan_processes(std::vector<std::string> const& arguments, LaunchContext context);

/// A Python program that prints the versions of Python and torch, and whether what it printed is a pair that
/// needs LaunchContext::torch_needs_redirects.
inline constexpr std::string_view torch_question =
    "import sys; from importlib.metadata import version; print(*sys.version_info[:2], version('torch'))";
bool needs_redirects(std::string_view versions);

/// The program that runs a trial class of Determined's ("model_def:MyTrial").
std::vector<std::string> trial_class_command(std::string const& trial_class);

/// Whether a configuration's entrypoint is the name of a trial class rather than a command.
bool is_trial_class(std::string_view entrypoint);

}  // namespace det::launch::launchers
