#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/node/job_command.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/node/srun_shim.hpp>
#include <det/launch/node/stage_directory.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/step_run.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "chief_host.hpp"
#include "compile_cache.hpp"
#include "determined_link.hpp"
#include "info_files.hpp"

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes preparation_timeout{10};  // for a context of 95 MiB on a slow file system
/// The file in DET_RUN_DIR with the variables that the first task of the node has detected, as "NAME=value"
/// lines.
constexpr char found_out[] = "environment";

/// The index of this node in the run. A launcher's step may use only some of the run's nodes, so the step's
/// own node numbers can't be used there.
int node_of_run(Environment const& environment, TaskIdentity const& task, std::string const& name) {
    auto const run_hosts = environment.find(variables::run_hosts).value_or(task.hosts);
    if (run_hosts == task.hosts) return task.cross_rank;
    auto const hosts = expand_host_list(run_hosts);
    if (!hosts) return task.cross_rank;
    auto const found = std::find(hosts->begin(), hosts->end(), name);
    return found == hosts->end() ? task.cross_rank : static_cast<int>(found - hosts->begin());
}

/// Restores the name of the job in a step that the supervisor has started with the name of the run.
void restore_job_name(Environment& environment) {
    auto name = environment.find_non_empty(variables::job_name);
    bool const is_of_run = environment.find("SLURM_JOB_NAME") == environment.find(variables::allocation_id);
    if (name && is_of_run) environment.set("SLURM_JOB_NAME", *std::move(name));
}

/// Sets the variables that a task can derive without communication.
void set_task_environment(Environment& environment, TaskIdentity const& task, Launch launch,
                          std::string const& name) {
    VariableLookup const lookup = [&](std::string_view wanted) { return environment.find(wanted); };
    bool const own_run = find_step_kind(task, lookup) == StepKind::own_run;
    if (!own_run) restore_job_name(environment);
    bool const has_ranks = !own_run && launch != Launch::script;  // a batch script is no rank
    auto assigned = own_run ? step_run_variables(task, launch, lookup) : Variables{};
    if (has_ranks) assigned = rank_variables_in_run(task, lookup);
    for (auto& [variable, value] : assigned) environment.set(std::move(variable), std::move(value));
    if (auto const type = parse_slot_type(lookup(variables::slot_type).value_or("")))
        environment.set(variables::slot_type, std::string(to_string(find_slot_type(*type))));
    environment.set(variables::placed, task_key(task));
    environment.set(variables::agent_id, name);
    if (auto user = lookup("SLURM_JOB_USER")) environment.set(variables::user, *std::move(user));
    // The supervisor's DET_SLOT_IDS gives the number of slots. CUDA_VISIBLE_DEVICES, if set, gives their
    // numbers.
    auto const slot_ids = environment.find_non_empty(variables::slot_ids).value_or("[0]");
    auto const slots = local_slots(lookup, static_cast<int>(std::ranges::count(slot_ids, ',')) + 1);
    environment.set(variables::slot_ids, render_slot_ids_json(slots));
    environment.set(variables::unique_port_offset, std::to_string(slots.front()));
}

Status call_helper(fs::path const& directory, Environment const& environment, fs::path const& helper) {
    SystemProcessRunner runner;
    DET_TRY_ASSIGN(
        auto const output,
        runner.run({{helper, "prepare-node", "--run-dir", directory}, environment, preparation_timeout}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, "could not prepare this node for the run"}.noting(
        std::string(trim(output.err)));
}

/// Puts the chief's node first in DET_RUN_HOSTS, for the info files of the ranks, and returns the index of
/// the node in this order. The supervisor numbers the nodes of its logs in its own order.
int number_nodes_from_chief(Environment& environment, int node, std::string const& host) {
    if (!must_learn_chief(environment)) return node;
    auto hosts = expand_host_list(environment.find(variables::run_hosts).value_or(""));
    if (!hosts) return node;
    auto const chief = std::ranges::find(*hosts, environment.find(variables::chief_ip).value_or(""));
    if (chief != hosts->end()) std::rotate(hosts->begin(), chief, chief + 1);
    environment.set(variables::run_hosts, compress_host_list(*hosts));
    auto const own = std::ranges::find(*hosts, host);
    return own == hosts->end() ? node : static_cast<int>(own - hosts->begin());
}

Status prepare(fs::path const& directory, int node, Environment environment, fs::path const& helper,
               std::string const& host) {
    node = number_nodes_from_chief(environment, node, host);
    auto const info = directory / info_files::directory;
    DET_TRY(make_directory(info));
    DET_TRY(preemption::NoticePage::create(directory / preemption::notice_file));
    DET_TRY_ASSIGN(auto const found, write_info_files(info, node, environment));
    std::string lines;
    for (auto const& [name, value] : found) {
        lines += fmt::format("{}={}\n", name, value);
        environment.set(name, value);
    }
    DET_TRY(write_file(directory / found_out, lines));
    if (environment.find_non_empty(variables::experiment_path)) {
        DET_TRY(call_helper(directory, environment, helper));
    }
    link_determined_info(directory);
    return Ok{};
}

Status read_found_variables(Environment& environment, fs::path const& directory) {
    DET_TRY_ASSIGN(auto const text, read_file(directory / found_out));
    for (auto const line : split_lines(text)) {
        auto const equals = line.find('=');
        environment.set(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    }
    return Ok{};
}

/// Where find_local_suffix() keeps its files.
Result<fs::path> local_names_directory(Environment const& environment) {
    auto const cache = environment.find_non_empty("XDG_CACHE_HOME");
    auto const home = environment.find_non_empty("HOME");
    if (!cache && !home) return Error{codes::no_such_file, "neither XDG_CACHE_HOME nor HOME is set"};
    return (cache ? fs::path(*cache) : fs::path(*home) / ".cache") / "det-submit" / "local-names";
}

}  // namespace

fs::path local_base(Environment const& environment) {
    for (auto const* name : {variables::local_dir, "TMPDIR"}) {
        auto const value = environment.find_non_empty(name);
        if (value && value->front() == '/') return *value;
    }
    return "/tmp";
}

std::string node_name(Environment const& environment) {
    if (auto name = environment.find_non_empty("SLURMD_NODENAME")) return *std::move(name);
    char name[256] = "localhost";
    ::gethostname(name, sizeof name - 1);
    return name;
}

Result<std::string> known_local_suffix(Environment const& environment, std::string const& key) {
    DET_TRY_ASSIGN(auto const directory, local_names_directory(environment));
    DET_TRY_ASSIGN(auto const text, read_file(directory / key));
    return std::string(trim(text));
}

Result<std::string> find_local_suffix(Environment const& environment, std::string const& key) {
    DET_TRY_ASSIGN(auto const directory, local_names_directory(environment));
    if (!path_exists(directory / key)) {
        DET_TRY(make_directories(directory));
        DET_TRY(write_new_secret_file(directory / key, make_uuid() + "\n"));
    }
    return known_local_suffix(environment, key);
}

Result<NodeDirectory> enter_run_directory(Environment& environment, TaskIdentity const& slurms_task,
                                          Launch launch, fs::path const& helper) {
    auto const name = node_name(environment);
    DET_TRY_ASSIGN(auto const task, learn_chief(environment, slurms_task, name));
    set_task_environment(environment, task, launch, name);
    int const node = node_of_run(environment, task, name);
    use_stage(environment);
    auto const base = local_base(environment);
    auto const key = local_directory_name(base, environment.find(variables::run_key).value_or(""), name);
    auto const enter = [&](std::string const& local_suffix) {
        return NodeDirectory::enter(
            base, key, [&](fs::path const& path) { return prepare(path, node, environment, helper, name); },
            [](fs::path const& path) { unlink_determined_info(path); }, local_suffix);
    };
    auto suffix = environment.find(variables::local_suffix).value_or("");
    auto entered = enter(suffix);
    // Without the plugin and without a supervisor, nothing gives the tasks a suffix.
    bool const is_taken = !entered && entered.error().code == codes::unsafe_owner && suffix.empty();
    if (is_taken) suffix = find_local_suffix(environment, key).value_or("");
    DET_TRY_ASSIGN(auto directory, is_taken && !suffix.empty() ? enter(suffix) : std::move(entered));
    environment.set(variables::run_dir, directory.path());
    environment.unset(variables::spec);
    use_compile_cache(environment, directory.path().parent_path(), name);
    DET_TRY(read_found_variables(environment, directory.path()));
    use_srun_shim(environment, directory.path());
    use_scontrol_filter(environment, directory.path());
    if (auto const run = environment.find_non_empty(variables::run_path)) {
        environment.set(variables::rank_log, RunLayout(*run).node_log(node));
    }
    return directory;
}

}  // namespace det::launch::node
