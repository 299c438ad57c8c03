#include <det/foundation/count_text.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/trusted_ancestors.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "resume_point.hpp"

namespace det::launch::supervisor {
namespace {

Result<std::string> require(Environment const& environment, std::string_view name) {
    if (auto value = environment.find_non_empty(name)) return *std::move(value);
    return Error{codes::not_in_slurm, fmt::format("{} is not set: this is no batch job of Slurm", name),
                 "det-launch trial is what a job's script runs; submit with 'det-submit experiment create'"};
}

Result<slurm::JobRef> own_job(Environment const& environment) {
    DET_TRY_ASSIGN(auto const job, require(environment, "SLURM_JOB_ID"));
    auto const array = environment.find_non_empty("SLURM_ARRAY_JOB_ID");
    auto const task = environment.find_non_empty("SLURM_ARRAY_TASK_ID");
    auto const text = array && task ? fmt::format("{}_{}", *array, *task) : job;
    if (auto const ref = slurm::parse_job_ref(text)) return *ref;
    return Error{codes::slurm_output, fmt::format("'{}' is not a job id", text)};
}

/// The smallest count of a list such as "8(x2),4": a step has the same number of CPUs on each node.
Result<int> smallest_count(std::string_view counts) {
    DET_TRY_ASSIGN(auto const all, expand_counts(counts));
    return std::max(1, *std::min_element(all.begin(), all.end()));
}

/// Checks where the code and the checkpoints of the experiment come from.
Status check_sources(ExperimentSpec const& spec, TrustRules const& rules) {
    if (spec.context) DET_TRY(check_trusted_directory(RootLayout(spec.root).contexts(), rules));
    if (spec.checkpoint_path.empty()) return Ok{};
    auto checked = check_trusted_path(spec.checkpoint_path, rules);
    if (!checked) return std::move(checked).error().while_doing("checking the checkpoint storage");
    return Ok{};
}

HostCpus read_host_cpus() {
    HostCpus host;
    host.cpus = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF)));
    auto const siblings = read_file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    if (!siblings) return host;
    // The file contains "0,64" or "0-1".
    int threads = 0;
    for (auto const part : split(trim(*siblings), ',')) {
        auto const dash = part.find('-');
        auto const first = parse_integer<int>(part.substr(0, dash)).value_or(0);
        auto const last = dash == std::string_view::npos
                              ? first
                              : parse_integer<int>(part.substr(dash + 1)).value_or(first);
        threads += last - first + 1;
    }
    host.threads_per_core = std::max(1, threads);
    return host;
}

}  // namespace

int step_cpus_max(int cpus, Environment const& job, HostCpus const& host) {
    auto const text = job.find_non_empty("SLURM_THREADS_PER_CORE");
    auto threads = text ? parse_integer<int>(*text).value_or(0) : 0;
    if (threads <= 0 && job.find("SLURM_HINT") == "nomultithread") threads = 1;
    if (threads <= 0 || threads >= host.threads_per_core) return cpus;
    return std::min(cpus, std::max(1, host.cpus / host.threads_per_core * threads));
}

Result<bool> BatchJob::has_ended(std::uint32_t trial) const {
    return supervisor::has_ended(experiment.trial(trial), spec.first_run_of(trial));
}

DesiredState BatchJob::desired() const {
    return journal::load_newest_desired(experiment.desired()).value_or(DesiredState::run);
}

DesiredState BatchJob::desired(std::uint32_t trial) const {
    auto const of_trial = journal::load_newest_desired(experiment.trial(trial).desired());
    return stricter(desired(), of_trial.value_or(DesiredState::run));
}

TrustRules trust_rules(Environment const& environment) {
    TrustRules rules;
    rules.trusted_ancestors =
        parse_trusted_ancestors(environment.find(variables::trusted_ancestors).value_or(""));
    return rules;
}

Result<std::string> load_spec_text(Environment const& environment) {
    if (auto passed = environment.find_non_empty(variables::spec)) return *std::move(passed);
    auto const experiment = environment.find(variables::experiment_path).value_or("");
    return read_trusted_file(ExperimentLayout(experiment).spec());
}

Result<std::uint32_t> trial_of_task(ExperimentSpec const& spec, std::uint32_t task) {
    bool const has_own_array =
        spec.launch == Launch::script && spec.batch_script && !spec.batch_script->array_task_ids.empty();
    if (!has_own_array) return task;
    auto const& tasks = spec.batch_script->array_task_ids;
    auto const found = std::ranges::find(tasks, task);
    if (found != tasks.end()) return static_cast<std::uint32_t>(found - tasks.begin());
    return Error{codes::no_such_trial,
                 fmt::format("experiment {} has no array task {}", spec.id.value, task)};
}

Result<BatchJob> load_batch_job(std::filesystem::path const& experiment, std::uint32_t task,
                                Environment const& environment) {
    ExperimentLayout const layout(experiment);
    auto const rules = trust_rules(environment);
    DET_TRY(check_trusted_directory(experiment, rules));
    // A job that was requeued by hand: what its trial has done is in the pack.
    DET_TRY(journal::require_not_packed(layout));
    DET_TRY_ASSIGN(auto spec, journal::load_spec(layout));
    DET_TRY(check_sources(spec, rules));
    DET_TRY_ASSIGN(auto const first_trial, trial_of_task(spec, task));
    if (first_trial >= spec.trial_count) {
        return Error{codes::no_such_trial,
                     fmt::format("experiment {} has {}: there is no trial {}", spec.id.value,
                                 count_text(spec.trial_count, "trial"), first_trial)};
    }
    auto const current = layout.at_revision(spec.revision());
    BatchJob batch_job{current, std::move(spec), first_trial, {}, {}, {}, 1, 0, {}, {}};
    DET_TRY_ASSIGN(batch_job.job, own_job(environment));
    DET_TRY_ASSIGN(batch_job.hosts, require(environment, "SLURM_JOB_NODELIST"));
    DET_TRY_ASSIGN(auto const cpus, require(environment, "SLURM_JOB_CPUS_PER_NODE"));
    DET_TRY_ASSIGN(auto const counted_cpus, smallest_count(cpus));
    batch_job.cpus_per_node = step_cpus_max(counted_cpus, environment, read_host_cpus());
    auto const memory = environment.find_non_empty("SLURM_MEM_PER_NODE");
    batch_job.memory_per_node_mib = memory ? parse_integer<std::int64_t>(*memory).value_or(0) : 0;
    DET_TRY_ASSIGN(batch_job.incarnation.batch_host, require(environment, "SLURMD_NODENAME"));
    auto const restarts = environment.find_non_empty("SLURM_RESTART_COUNT");
    batch_job.incarnation.restart_count = restarts ? parse_integer<std::uint32_t>(*restarts).value_or(0) : 0;
    batch_job.cluster = environment.find("SLURM_CLUSTER_NAME").value_or("");
    batch_job.partition = environment.find("SLURM_JOB_PARTITION").value_or("");
    auto const batch_process = environment.find(batch_process_variable).value_or("");
    batch_job.batch_process = parse_integer<pid_t>(batch_process).value_or(0);
    batch_job.is_started_again = environment.find_non_empty(supervisor_restarts_variable).has_value();
    return batch_job;
}

}  // namespace det::launch::supervisor
