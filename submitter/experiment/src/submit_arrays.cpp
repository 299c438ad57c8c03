#include <det/experiment/find_start_times.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/foundation/files.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/script.hpp>
#include <det/queue/start_estimate.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

Result<std::string> render_script(SubmissionRequest const& request, ExperimentId id, ArrayJob const& array) {
    return plan::render_script(
        request.job_template, request.plan,
        {id,
         request.config.name,
         ExperimentLayout(request.root, id).path(),
         request.det_launch,
         {array.first_trial, array.trial_count, array.running_max, array.lanes, array.task_count},
         {request.trust.trusted_ancestors.begin(), request.trust.trusted_ancestors.end()}});
}

/// A script in memory that sbatch can open by a path. The question whether Slurm would accept a script thus
/// writes nothing to disk.
class ScriptInMemory {
public:
    static Result<ScriptInMemory> make(std::string_view text) {
        UniqueFd fd(::memfd_create("script", MFD_CLOEXEC));
        if (!fd) return os_error("make a file in memory", errno);
        DET_TRY(write_all(fd.get(), text, "a file in memory"));
        return ScriptInMemory(std::move(fd));
    }
    fs::path path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get()); }

private:
    explicit ScriptInMemory(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

/// Returns the time in "Job 12 to start at 2026-11-21T16:20:00 using 32 processors on ..."; empty if the text
/// has none. squeue and scontrol have no StartTime for a held job, and for a released one only after the next
/// pass of the backfill scheduler (measured with 22.05: after 28 s with the default bf_interval=30).
std::string start_time_in(std::string_view said) {
    constexpr std::string_view before = " to start at ";
    auto const found = said.find(before);
    if (found == std::string_view::npos) return "";
    auto const rest = said.substr(found + before.size());
    return std::string(rest.substr(0, rest.find(' ')));
}

/// Evaluates what `sbatch --test-only` prints. A start within a month is believed, and one in a year is
/// behind a job without a time limit, whatever the queue shows. Only between the two the queue is read, which
/// takes 5 ms and more.
ExpectedStart expected_start_in(std::string_view said, Context& context) {
    constexpr std::int64_t month_us = std::int64_t{30} * 24 * 3600 * 1'000'000;
    auto text = start_time_in(said);
    auto const time = parse_local_time(text);
    auto const now = context.clock.now();
    if (!time || time->microseconds - now.microseconds < month_us) return {std::move(text), ""};
    auto estimate = queue::StartEstimates({}, now).evaluate(time);
    if (estimate.time) {
        if (auto const jobs = context.slurm.query_queue({}))
            estimate = queue::StartEstimates(*jobs, now).evaluate(time);
    }
    return {estimate.time ? std::move(text) : "", std::move(estimate.unknown_because)};
}

/// The array of a batch script: one job, with the task numbers of the script.
ArrayJob array_of_script(plan::SubmissionPlan const& plan) {
    ArrayJob array;
    array.trial_count = plan.trial_count;
    array.running_max = plan.concurrent_trials_max < plan.trial_count ? plan.concurrent_trials_max : 0;
    array.task_ids = plan.batch_script->task_ids;
    return array;
}

/// Runs `sbatch --test-only` for an array of an experiment without an id. Returns the text that sbatch
/// prints.
Result<std::string> test_array(SubmissionRequest const& request, ArrayJob const& array, Context& context,
                               std::vector<std::string> const& more_options) {
    DET_TRY_ASSIGN(auto const script, render_script(request, {}, array));
    DET_TRY_ASSIGN(auto const in_memory, ScriptInMemory::make(script));
    auto options = first_sbatch_options(request);
    options.insert(options.end(), more_options.begin(), more_options.end());
    return context.slurm.test_submission(
        {options, in_memory.path(), context.environment, request.script.has_value()});
}

/// Whether Slurm refused the jobs by a limit of an association or a QOS, for example MaxSubmitJobs, for which
/// each task of an array counts.
bool is_job_limit(Error const& error) {
    constexpr std::string_view words = "Job violates accounting/QOS policy";
    return error.code == codes::slurm_refused && std::ranges::any_of(error.notes, [&](auto const& note) {
               return note.find(words) != std::string::npos;
           });
}

std::uint32_t count_tasks(std::vector<ArrayJob> const& arrays) {
    std::uint32_t count = 0;
    for (auto const& array : arrays)
        count +=
            array.task_count > 0 ? array.task_count : (array.trial_count + array.lanes - 1) / array.lanes;
    return count;
}

bool has_fewer_tasks_left(std::vector<ArrayJob> const& arrays) { return count_tasks(arrays) > 1; }

/// Returns a smaller tasks_max to try. The first step is tasks - 1: any limit below the number of tasks gives
/// one array with as many tasks as run at the same time, so the experiment takes no longer. Further steps
/// halve the number of tasks.
std::uint32_t next_fewer_tasks(std::vector<ArrayJob> const& arrays) {
    auto const tasks = count_tasks(arrays);
    bool const are_claimed = arrays.front().task_count > 0;
    return are_claimed ? tasks / 2 : tasks - 1;
}

/// Submits one array, held.
Result<ArrayJob> submit_array(SubmissionRequest const& request, ExperimentSpec const& spec,
                              RenderedExperiment::Script const& script, Context& context) {
    std::vector<std::string> options{"--hold"};
    options.insert(options.end(), spec.sbatch_options.begin(), spec.sbatch_options.end());
    if (!request.dependency.empty()) {
        auto const users = request.plan.sbatch_args.find("dependency").value_or("");
        options.push_back("--dependency=" + request.dependency + (users.empty() ? "" : "," + users));
    }
    // A continuation runs only some tasks of the array.
    if (auto const tasks = slurm::array_option(script.array); !tasks.empty()) options.push_back(tasks);
    auto submitted = script.array;
    DET_TRY_ASSIGN(submitted.job, context.slurm.submit({options, script.path, context.environment,
                                                        request.script.has_value()}));
    return submitted;
}

}  // namespace

std::vector<ArrayJob> plan_arrays(SubmissionRequest const& request, std::optional<std::uint32_t> tasks_max) {
    auto const& plan = request.plan;
    if (plan.batch_script && !plan.batch_script->indices.empty()) return {array_of_script(plan)};
    std::vector<ArrayJob> arrays;
    for (auto const& part : plan::split_into_arrays(
             {plan.trial_count, plan.concurrent_trials_max, plan.lanes, tasks_max}, request.array_size_max))
        arrays.push_back(
            {0, part.first_trial, part.trial_count, part.lanes, part.running_max, {}, part.tasks_max});
    return arrays;
}

Result<std::string> render_script_of(SubmissionRequest const& request, ArrayJob const& array) {
    return render_script(request, {}, array);
}

std::vector<std::string> first_sbatch_options(SubmissionRequest const& request) {
    return plan::sbatch_command_line_options(request.plan, ExperimentLayout(request.root, {0}),
                                             job_comment(request.root, {0}));
}

Result<AcceptedArrays> plan_accepted_arrays(SubmissionRequest const& request, Context& context,
                                            std::vector<std::string> const& more_options) {
    auto arrays = plan_arrays(request, request.tasks_max);
    // sbatch accepts a job that must wait for drained or down nodes, but sbatch --test-only refuses it.
    if (request.plan.must_wait_for_nodes()) return AcceptedArrays{std::move(arrays)};
    for (;;) {
        auto const said = test_array(request, arrays.front(), context, more_options);
        // sbatch accepts some jobs that --test-only refuses, and a batch script is submitted as sbatch alone
        // would.
        bool const is_answer = !said && said.error().code == codes::slurm_refused;
        if (is_answer && request.plan.batch_script) return AcceptedArrays{std::move(arrays)};
        if (said) return AcceptedArrays{std::move(arrays), expected_start_in(*said, context)};
        if (!is_job_limit(said.error()) || !has_fewer_tasks_left(arrays)) return said.error();
        arrays = plan_arrays(request, next_fewer_tasks(arrays));
    }
}

Result<RenderedExperiment> render_experiment(SubmissionRequest const& request, ExperimentLayout const& layout,
                                             ExperimentSpec spec, std::vector<ArrayJob> const& arrays) {
    RenderedExperiment experiment{layout, std::move(spec), {}};
    for (auto const& array : arrays) {
        DET_TRY_ASSIGN(auto text, render_script(request, experiment.spec.id, array));
        experiment.scripts.push_back({array, layout.script(array.first_trial), std::move(text)});
    }
    return experiment;
}

Result<std::vector<ArrayJob>> submit_arrays(SubmissionRequest const& request,
                                            RenderedExperiment const& experiment, Context& context) {
    std::vector<ArrayJob> submitted;
    for (auto const& script : experiment.scripts) {
        auto job = submit_array(request, experiment.spec, script, context);
        if (job) {
            submitted.push_back(*std::move(job));
            continue;
        }
        auto error = std::move(job).error();
        for (auto const& done : submitted) {
            if (auto const cancelled = context.slurm.cancel({done.job, {}}); !cancelled)
                error.notes.push_back(fmt::format("job {} is still held: cancel it with scancel", done.job));
        }
        return error;
    }
    return submitted;
}

std::string join_job_ids(std::vector<ArrayJob> const& arrays) {
    std::vector<std::uint32_t> jobs;
    for (auto const& array : arrays) jobs.push_back(array.job);
    return fmt::format("{}", fmt::join(jobs, ", "));
}

}  // namespace det::experiment
