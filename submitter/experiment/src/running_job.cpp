// A job that sbatch alone has started becomes an experiment (`det-launch script`).
//
// The job's comment says whose job it is: it stays when Slurm queues the job again. The tasks of an array may
// start at the same time, when no comment is set yet: the one that makes a directory for the array creates
// the experiment, and the others wait for its number there.
#include <det/experiment/create_experiment.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/running_job.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/trusted_ancestors.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto wait_for_other_task = 120s;
constexpr auto between_looks = 200ms;
constexpr char name_of_slurms_copy[] = "slurm_script";

/// Variables that sbatch sets for options, from the header and from its command line.
struct OptionVariable {
    char const* variable;
    char const* option;
};
constexpr OptionVariable option_variables[] = {
    {"SLURM_JOB_PARTITION", "partition"},
    {"SLURM_JOB_ACCOUNT", "account"},
    {"SLURM_JOB_QOS", "qos"},
    {"SLURM_JOB_RESERVATION", "reservation"},
    {"SLURM_JOB_NUM_NODES", "nodes"},
    {"SLURM_NTASKS", "ntasks"},
    {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"},
    {"SLURM_CPUS_PER_TASK", "cpus-per-task"},
    {"SLURM_GPUS", "gpus"},
    {"SLURM_GPUS_PER_NODE", "gpus-per-node"},
    {"SLURM_GPUS_PER_TASK", "gpus-per-task"},
    {"SLURM_MEM_PER_NODE", "mem"},
    {"SLURM_MEM_PER_CPU", "mem-per-cpu"},
};

Result<slurm::JobRef> own_job(Environment const& environment) {
    auto const job = environment.find_non_empty("SLURM_JOB_ID");
    auto const array = environment.find_non_empty("SLURM_ARRAY_JOB_ID");
    auto const task = environment.find_non_empty("SLURM_ARRAY_TASK_ID");
    auto const ref = slurm::parse_job_ref(array && task ? *array + "_" + *task : job.value_or(""));
    if (ref) return *ref;
    return Error{codes::not_in_slurm, "SLURM_JOB_ID is not set: this is no batch job of Slurm",
                 "'exec det-launch script' is a line of a script that is submitted with sbatch"};
}

/// Asks Slurm for the job. slurmctld may be busy or restarting when a job starts.
Result<slurm::JobStatus> query_own_job(slurm::JobRef const& ref, Context& context) {
    DET_TRY_ASSIGN(auto job, context.slurm.query_job(ref));
    if (job) return *std::move(job);
    return Error{codes::no_such_job, fmt::format("Slurm does not know job {}", slurm::to_string(ref))};
}

/// The experiment that the job's comment names, if its specification exists.
Result<std::optional<ExperimentId>> find_experiment_of(slurm::JobStatus const& job, RootLayout const& root) {
    auto const comment = slurm::parse_experiment_comment(job.comment);
    if (!comment) return std::optional<ExperimentId>();
    if (comment->root_id != root_id(root)) {
        return Error{codes::usage,
                     fmt::format("the job's experiment is not below '{}': its comment is '{}'",
                                 root.path().string(), escape_control(job.comment)),
                     "set DET_ROOT to the directory that it had when the job started for the first time"};
    }
    bool const exists =
        comment->experiment && path_exists(ExperimentLayout(root, {*comment->experiment}).spec());
    return exists ? std::optional(ExperimentId{*comment->experiment}) : std::nullopt;
}

/// Whether the script is one that det-submit has generated for the experiment's jobs.
Result<bool> is_generated(std::string const& text, ExperimentLayout const& layout) {
    DET_TRY_ASSIGN(auto const events, journal::load_events(layout.events()));
    for (auto const& array : array_jobs_of(events)) {
        auto const script = read_file(layout.script(array.first_trial), config_limit_bytes);
        if (script && *script == text) return true;
    }
    return false;
}

/// The words that run a script. One without a first line "#!" is bash's, as after `exec job.sh`.
std::vector<std::string> interpreter_of(std::string const& text) {
    auto words = config::read_shebang(text);
    return words.empty() ? std::vector<std::string>{"/bin/bash"} : words;
}

std::vector<std::string> script_command(ConfigSources const& sources, std::string const& text) {
    auto command = interpreter_of(text);
    command.push_back(sources.file.string());
    command.insert(command.end(), sources.script_arguments.begin(), sources.script_arguments.end());
    return command;
}

/// What the last line of a generated batch script executes.
RunningJob supervisor_command(fs::path const& experiment, slurm::JobRef const& ref, TrustRules const& trust) {
    RunningJob job{{sibling_program("det-batch").string(), sibling_program("det-launch").string(), "trial"},
                   experiment};
    if (!trust.trusted_ancestors.empty()) {
        std::vector<std::string> const paths(trust.trusted_ancestors.begin(), trust.trusted_ancestors.end());
        job.command.insert(job.command.end(), {std::string(trusted_ancestors_option), join(paths, ":")});
    }
    job.command.insert(job.command.end(), {"--experiment", experiment.string(), "--trial",
                                           std::to_string(ref.task.value_or(0))});
    return job;
}

/// The time limit in minutes, which no variable has.
std::optional<std::int64_t> time_limit_min(slurm::JobStatus const& job) {
    if (!job.start_time || !job.end_time) return std::nullopt;
    auto const length = std::chrono::microseconds(job.end_time->microseconds - job.start_time->microseconds);
    auto const minutes = std::chrono::round<std::chrono::minutes>(length).count();
    return minutes > 0 ? std::optional(minutes) : std::nullopt;
}

/// The options of the job that a replacement of it needs: its header may lack those of sbatch's command line.
std::vector<std::string> overrides_of(slurm::JobStatus const& job, Environment const& environment) {
    auto options = Json::array();
    for (auto const& [variable, option] : option_variables) {
        if (auto const value = environment.find_non_empty(variable))
            options.push_back(fmt::format("--{}={}", option, *value));
    }
    if (auto const minutes = time_limit_min(job)) options.push_back(fmt::format("--time={}", *minutes));
    if (auto const name = environment.find_non_empty("SLURM_JOB_NAME"))
        options.push_back("--job-name=" + *name);
    std::vector<std::string> overrides{"slurm.sbatch_args=" + to_line(options)};
    if (!job.name.empty()) overrides.push_back("name=" + to_line(Json(job.name)));
    return overrides;
}

/// Adds the array of sbatch's command line to the top of the header, whose own option wins. Slurm names the
/// tasks only if they are equally far from each other.
void add_array_of_command_line(std::string& script, Environment const& environment) {
    auto const number = [&](char const* name) {
        return parse_integer<std::uint32_t>(environment.find(name).value_or(""));
    };
    auto const count = number("SLURM_ARRAY_TASK_COUNT"), least = number("SLURM_ARRAY_TASK_MIN"),
               greatest = number("SLURM_ARRAY_TASK_MAX"), step = number("SLURM_ARRAY_TASK_STEP");
    if (!count || !least || !greatest || !step || *step == 0 || *greatest < *least) return;
    if ((*greatest - *least) / *step + 1 != *count) return;
    auto const line_end = script.find('\n');
    if (line_end == std::string::npos) return;
    script.insert(line_end + 1, fmt::format("#SBATCH --array={}-{}:{}\n", *least, *greatest, *step));
}

/// Whether the tasks of the header's array are those of the job.
bool has_tasks_of_job(std::vector<std::uint32_t> const& tasks, slurm::JobRef const& ref,
                      Environment const& environment) {
    if (!ref.task || tasks.empty()) return !ref.task && tasks.empty();
    auto const is = [&](char const* name, std::size_t value) {
        return environment.find(name) == std::to_string(value);
    };
    return is("SLURM_ARRAY_TASK_COUNT", tasks.size()) && is("SLURM_ARRAY_TASK_MIN", tasks.front()) &&
           is("SLURM_ARRAY_TASK_MAX", tasks.back()) && std::ranges::find(tasks, *ref.task) != tasks.end();
}

ArrayJob running_array(slurm::JobRef const& ref, plan::SubmissionPlan const& plan) {
    ArrayJob array;
    array.job = ref.job;
    array.trial_count = plan.trial_count;
    array.task_ids = plan.batch_script->task_ids;
    array.is_plain_job = !ref.task;
    return array;
}

Result<CreatedExperiment, Diagnostics> create_from_job(SubmissionOptions options, std::string const& text,
                                                       slurm::JobStatus const& job, slurm::JobRef const& ref,
                                                       Context& context) {
    // The header of the job is that of the script that Slurm has, which may only call this one.
    auto const of_job = context.slurm.query_script(ref);
    auto header = of_job ? of_job->text : text;
    header.erase(std::remove(header.begin(), header.end(), '\0'), header.end());
    if (!config::is_batch_script(header)) header = "#!/bin/bash\n" + header;
    if (ref.task) add_array_of_command_line(header, context.environment);
    options.sources.text = std::move(header);
    bool const is_named = of_job && !of_job->command.empty();
    if (is_named && options.sources.file.filename() == name_of_slurms_copy)
        options.sources.file = of_job->command.substr(0, of_job->command.find(' '));
    auto overrides = overrides_of(job, context.environment);
    options.sources.overrides.insert(options.sources.overrides.begin(), overrides.begin(), overrides.end());
    DET_TRY_ASSIGN(auto request, make_submission_request(std::move(options), context));
    if (!has_tasks_of_job(request.plan.batch_script->task_ids, ref, context.environment)) {
        return Error{codes::bad_value,
                     fmt::format("which tasks the array of job {} has is not known", ref.job),
                     "write the --array into an #SBATCH line of the script"};
    }
    request.script->text = text;
    request.script->interpreter = interpreter_of(text);
    request.plan.batch_script->working_directory = request.script->directory.string();
    DET_TRY_ASSIGN(auto created, create_for_running_job(request, running_array(ref, request.plan), context));
    return created;
}

/// The directory by which the tasks of an array agree on one experiment. Other jobs may have the same number
/// later: a slurmctld that was reset begins with the first number again.
fs::path claim_of_array(RootLayout const& root, slurm::JobStatus const& job, Environment const& environment) {
    auto const submitted = job.submit_time ? job.submit_time->microseconds / 1'000'000 : 0;
    return root.script_arrays() / fmt::format("{}-{}-{}", environment.find("SLURM_CLUSTER_NAME").value_or(""),
                                              job.ref.job, submitted);
}

Result<ExperimentId> wait_for_experiment(fs::path const& file, Context& context) {
    auto const until = context.clock.steady_now() + wait_for_other_task;
    for (;;) {
        auto const text = read_file(file);
        if (auto const id = text ? parse_experiment_id(std::string(trim(*text))) : std::nullopt) return *id;
        if (context.clock.steady_now() >= until) break;
        context.clock.sleep_for(between_looks);
    }
    return Error{codes::timed_out,
                 fmt::format("another task of the array has begun its experiment, and has not finished it: "
                             "there is no '{}'",
                             file.string()),
                 "remove the file's directory, and submit the script again"};
}

Result<ExperimentId, Diagnostics> create_or_wait(SubmissionOptions options, std::string const& text,
                                                 slurm::JobStatus const& job, slurm::JobRef const& ref,
                                                 RootLayout const& root, Context& context) {
    if (!ref.task) {
        DET_TRY_ASSIGN(auto const created, create_from_job(std::move(options), text, job, ref, context));
        return created.id;
    }
    auto const claim = claim_of_array(root, job, context.environment);
    DET_TRY(make_directories(root.script_arrays()));
    DET_TRY_ASSIGN(bool const is_first, make_directory(claim));
    auto const number = claim / "experiment";
    if (!is_first) {
        DET_TRY_ASSIGN(auto const id, wait_for_experiment(number, context));
        return id;
    }
    auto const created = create_from_job(std::move(options), text, job, ref, context);
    if (!created) {
        (void)remove_tree(claim);
        return created.error();
    }
    DET_TRY(write_file(number, to_string(created->id) + "\n"));
    return created->id;
}

}  // namespace

Result<RunningJob, Diagnostics> record_running_job(SubmissionOptions options, Context& context) {
    DET_TRY_ASSIGN(auto const ref, own_job(context.environment));
    DET_TRY_ASSIGN(auto const text, read_file(options.sources.file, config_limit_bytes));
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const file, load_site_file(context.environment));
    auto const trust = trust_rules(file);
    DET_TRY(require_trusted_root(root, trust));
    DET_TRY_ASSIGN(auto const job, query_own_job(ref, context));
    DET_TRY_ASSIGN(auto id, find_experiment_of(job, root));
    if (id) {
        DET_TRY_ASSIGN(bool const is_ours, is_generated(text, ExperimentLayout(root, *id)));
        if (is_ours) return RunningJob{script_command(options.sources, text), {}};
    } else {
        DET_TRY_ASSIGN(id, create_or_wait(std::move(options), text, job, ref, root, context));
    }
    return supervisor_command(ExperimentLayout(root, *id).path(), ref, trust);
}

}  // namespace det::experiment
