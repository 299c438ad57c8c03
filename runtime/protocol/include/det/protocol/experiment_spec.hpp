#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/launch.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// The shape of a trial on the cluster: whole nodes, the same number of slots on each.
struct TrialShape {
    int nodes = 1;
    int slots_per_node = 1;  // ranks on each node; 0 slots are one rank on a CPU node
    SlotType slot_type = SlotType::cpu;
    friend bool operator==(TrialShape const&, TrialShape const&) = default;

    int ranks_per_node() const { return slots_per_node > 0 ? slots_per_node : 1; }
    int ranks() const { return nodes * ranks_per_node(); }
};

struct ContextSpec {
    std::string sha256;  // names the archive under contexts/
    std::uint64_t size_bytes = 0;
    bool has_startup_hook = false;  // startup-hook.sh: sourced before the entrypoint begins
    friend bool operator==(ContextSpec const&, ContextSpec const&) = default;
};

struct SearcherSpec {
    std::string name;
    std::string metric;
    bool smaller_is_better = true;
    JsonValue options;  // all that the configuration says of it
    friend bool operator==(SearcherSpec const&, SearcherSpec const&) = default;
};

/// What follows where a line of a run's log matches.
struct LogPolicySpec {
    std::string name;     // for people
    std::string pattern;  // a regular expression, RE2's
    LogAction action = LogAction::cancel_retries;
    friend bool operator==(LogPolicySpec const&, LogPolicySpec const&) = default;
};

/// A continuation of an experiment that had ended: from here on its files are those of revisions/<number>.
struct Revision {
    std::uint32_t number = 0;
    /// The trials that go on, each with the first run that counts: what runs before it ended as is history.
    std::map<std::uint32_t, std::uint32_t> first_runs = {};
    friend bool operator==(Revision const&, Revision const&) = default;
};

/// The whole of an experiment as jobs need it: experiments/<id>/spec.json, the only configuration that code
/// in jobs reads. Written at creation, and replaced by each continuation: what it names as its revisions is
/// in force, nothing else.
struct ExperimentSpec {
    ExperimentId id;
    std::string name;
    std::string owner;
    std::optional<ExperimentId> parent = {};  // that it was forked from
    UtcTime created;
    std::string root;  // DET_ROOT, absolute
    std::string pool;
    TrialShape shape;
    std::uint32_t lanes = 1;                  // trials that share a job's node, one beside the other
    std::uint32_t spare_nodes = 0;            // of a job, beyond those that a trial runs on
    std::string excluded_nodes;               // that its jobs never get: a host list
    std::vector<std::string> sbatch_options;  // what its jobs were submitted with besides their script
    Launch launch = Launch::node;
    Mpi mpi = Mpi::none;
    std::vector<std::string> entrypoint;  // argv; a string of the configuration is {"sh", "-c", it}
    std::vector<std::string> environment_variables;  // NAME=VALUE, later ones win
    std::optional<ContextSpec> context;
    std::optional<ContainerSpec> container = {};  // that the entrypoint runs in
    SearcherSpec searcher;
    JsonValue hyperparameters;  // as configured; each trial's own are drawn from them
    std::uint32_t experiment_seed = 0;
    std::uint32_t trial_count = 1;  // how many the searcher will ever make
    std::uint32_t max_restarts = 5;
    std::uint32_t preemption_timeout_s = 3600;  // how long a trial that was asked to stop may take
    /// From Slurm's notice that it wants the nodes until it takes them; nothing: not known.
    std::optional<std::uint32_t> notice_s = {};
    std::vector<LogPolicySpec> log_policies;
    std::vector<std::string> forward_signals;  // names without SIG: ranks get them as well
    std::string checkpoint_path;               // where they lie, absolute; empty: in no directory
    JsonValue config;  // the effective configuration, as Determined writes it; secrets masked
    std::vector<Revision> revisions = {};  // the first ones first; none: it was never continued

    /// 0 before it was continued.
    std::uint32_t revision() const { return revisions.empty() ? 0 : revisions.back().number; }
    /// Of that trial, the first run that says in which state it is.
    std::uint32_t first_run_of(std::uint32_t trial) const;
    friend bool operator==(ExperimentSpec const&, ExperimentSpec const&) = default;
};

std::string render_spec(ExperimentSpec const& spec);
Result<ExperimentSpec> parse_spec(std::string_view text);

/// Without the `continued` events of continuations that were cut off before they were in force. Pure.
std::vector<Event> events_in_force(std::vector<Event> events, ExperimentSpec const& spec);

}  // namespace det
