#include <det/foundation/text.hpp>
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::slurm {
namespace {

// Slurm retries an absent slurmctld or slurm.conf for a minute by itself: nobody waits that long at a prompt.
constexpr std::chrono::seconds call_timeout{20};

/// Words by which Slurm's commands say that slurmctld did not answer, rather than that it refused.
constexpr std::string_view unreachable_words[] = {
    "Unable to contact slurm controller",
    "Connection refused",
    "Connection timed out",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "Insane message length",
    "Unable to establish configuration",
    "Unable to process configuration",
    "Could not establish a configuration",
    "Protocol authentication error",
    "No route to host",
    "cannot stat file",
};

bool says_unreachable(std::string_view text) {
    for (auto const words : unreachable_words) {
        if (text.find(words) != std::string_view::npos) return true;
    }
    return false;
}

Error unreachable(std::string_view program, std::string_view said) {
    Error error{
        codes::slurm_unreachable, "Slurm does not answer",
        "check that 'sinfo' works here: slurmctld may be down, or SLURM_CONF may name the wrong file"};
    if (!trim(said).empty()) error.notes.push_back(fmt::format("{} said: {}", program, trim(said)));
    return error;
}

/// The Error for a command that ended with a failure.
Error failure(std::string_view program, ProcessOutput const& output) {
    auto const said = trim(output.err.empty() ? output.out : output.err);
    if (says_unreachable(said)) return unreachable(program, said);
    return Error{codes::slurm_refused, fmt::format("Slurm refused '{}'", program)}.noting(
        fmt::format("{} said: {}", program, said));
}

/// The Error for a command that did not run to its end.
Error in_slurms_terms(std::string_view program, Error const& error) {
    if (error.code == codes::no_such_file) {
        return Error{codes::slurm_unreachable, fmt::format("'{}' is not installed here", program),
                     "run this on a login node of the cluster, or install Slurm's client commands"};
    }
    return error.code == codes::timed_out ? unreachable(program, error.message) : error;
}

/// sbatch that is not answered in time may have been heard all the same.
Error in_doubt(Error error) {
    auto const& notes = error.notes;
    bool const was_sent = std::any_of(notes.begin(), notes.end(), [](std::string const& note) {
        return note.find("timed out") != std::string::npos ||
               note.find("did not end within") != std::string::npos;
    });
    if (error.code != codes::slurm_unreachable || !was_sent) return error;
    error.code = codes::submission_unclear;
    error.message = "sbatch was not answered: Slurm may have the job or not";
    return error;
}

Environment environment_for_reading(Environment environment) {
    for (auto const* prefix : {"SQUEUE_", "SINFO_", "SCONTROL_", "SCANCEL_"})
        environment.unset_with_prefix(prefix);
    environment.set("SLURM_TIME_FORMAT", "%s");
    return environment;
}

}  // namespace

Environment environment_for_submission(Environment environment) {
    auto const configuration = environment.find("SLURM_CONF");
    for (auto const* prefix :
         {"SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_", "SPANK_", "PMI_", "PMI2_", "PMIX_"}) {
        environment.unset_with_prefix(prefix);
    }
    if (configuration) environment.set("SLURM_CONF", *configuration);
    return environment;
}

CommandClient::CommandClient(ProcessRunner& runner, Environment environment)
    : runner_(runner), environment_(environment_for_reading(std::move(environment))) {}

Result<ProcessOutput> CommandClient::call(std::vector<std::string> argv) {
    return call_all({std::move(argv)}).front();
}

std::vector<Result<ProcessOutput>> CommandClient::call_all(std::vector<std::vector<std::string>> argvs) {
    std::vector<Command> commands;
    for (auto& argv : argvs) commands.push_back({std::move(argv), environment_, call_timeout});
    auto outputs = runner_.run_all(commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (!outputs[i]) outputs[i] = in_slurms_terms(commands[i].argv.front(), outputs[i].error());
    }
    return outputs;
}

Result<ProcessOutput> CommandClient::call_sbatch(Submission const& submission,
                                                 std::vector<std::string> const& extra) {
    std::vector<std::string> argv{"sbatch"};
    argv.insert(argv.end(), extra.begin(), extra.end());
    argv.insert(argv.end(), submission.options.begin(), submission.options.end());
    argv.push_back(submission.script);
    CommandClient as_job(runner_, environment_);
    as_job.environment_ = environment_for_submission(submission.environment);
    DET_TRY_ASSIGN(auto output, as_job.call(std::move(argv)));
    if (output.exit_code != 0) return failure("sbatch", output);
    return output;
}

Result<std::string> CommandClient::test_submission(Submission const& submission) {
    DET_TRY_ASSIGN(auto const output, call_sbatch(submission, {"--test-only"}));
    return std::string(trim(output.err));
}

Result<std::uint32_t> CommandClient::submit(Submission const& submission) {
    auto const answer = call_sbatch(submission, {"--parsable"});
    if (!answer) return in_doubt(answer.error());
    auto const& output = *answer;
    auto const said = trim(output.out);
    auto const job = parse_integer<std::uint32_t>(said.substr(0, said.find(';')));  // "123;cluster"
    if (!job)
        return Error{codes::slurm_output, fmt::format("sbatch printed '{}' in place of a job id", said)};
    return *job;
}

Status CommandClient::tell(std::string_view name, std::vector<std::string> argv) {
    DET_TRY_ASSIGN(auto const output, call(std::move(argv)));
    if (output.exit_code != 0) return failure(name, output);
    return Ok{};
}

Status CommandClient::hold(JobRef const& job) {
    return tell("scontrol hold", {"scontrol", "hold", to_string(job)});
}

Status CommandClient::release(JobRef const& job) {
    return tell("scontrol release", {"scontrol", "release", to_string(job)});
}

Status CommandClient::cancel(JobRef const& job) { return tell("scancel", {"scancel", to_string(job)}); }

Status CommandClient::change(JobRef const& job, JobChange const& change) {
    std::vector<std::string> argv{"scontrol", "update", "JobId=" + to_string(job)};
    if (change.nice) argv.push_back(fmt::format("Nice={}", *change.nice));
    if (change.priority) argv.push_back(fmt::format("Priority={}", *change.priority));
    if (change.partition) argv.push_back("Partition=" + *change.partition);
    if (change.running_tasks_max)
        argv.push_back(fmt::format("ArrayTaskThrottle={}", *change.running_tasks_max));
    return tell("scontrol update", std::move(argv));
}

Status CommandClient::move_to_top(std::vector<JobRef> const& jobs) {
    std::vector<std::string> names;
    for (auto const& job : jobs) names.push_back(to_string(job));
    return tell("scontrol top", {"scontrol", "top", join(names, ",")});
}

Status CommandClient::signal_batch(JobRef const& job, std::string_view signal) {
    return tell("scancel", {"scancel", "--batch", fmt::format("--signal={}", signal), to_string(job)});
}

Status CommandClient::signal_steps(JobRef const& job, std::string_view signal) {
    return tell("scancel", {"scancel", fmt::format("--signal={}", signal), to_string(job)});
}

Result<std::vector<JobStatus>> CommandClient::queue(QueueFilter const& filter) {
    std::vector<std::string> argv{"squeue", "--noheader", "--array", "--Format=" + job_format()};
    if (filter.user) argv.push_back("--user=" + *filter.user);
    if (filter.include_finished) argv.push_back("--states=all");
    if (!filter.jobs.empty()) {
        std::vector<std::string> jobs;
        for (auto const job : filter.jobs) jobs.push_back(std::to_string(job));
        argv.push_back("--jobs=" + join(jobs, ","));
    }
    DET_TRY_ASSIGN(auto const output, call(std::move(argv)));
    // squeue fails when the only job that it is asked about is one that slurmctld has forgotten.
    if (output.exit_code != 0 && output.err.find("Invalid job id specified") != std::string::npos) {
        return std::vector<JobStatus>{};
    }
    if (output.exit_code != 0) return failure("squeue", output);
    return parse_jobs(output.out);
}

Result<std::optional<JobStatus>> CommandClient::find_job(JobRef const& job) {
    DET_TRY_ASSIGN(auto jobs, queue({.jobs = {job.job}, .include_finished = true}));
    for (auto& status : jobs) {
        if (status.ref == job) return std::optional(std::move(status));
    }
    return std::optional<JobStatus>();
}

Result<std::vector<Partition>> CommandClient::partitions() {
    auto answers = call_all({{"scontrol", "show", "partition", "--oneliner"},
                             {"sinfo", "--noheader", "--all", "--format=" + node_group_format()}});
    DET_TRY_ASSIGN(auto const partitions, std::move(answers[0]));
    if (partitions.exit_code != 0) return failure("scontrol", partitions);
    DET_TRY_ASSIGN(auto const nodes, std::move(answers[1]));
    if (nodes.exit_code != 0) return failure("sinfo", nodes);
    return parse_partitions(partitions.out, nodes.out);
}

Result<std::vector<Node>> CommandClient::nodes() {
    DET_TRY_ASSIGN(auto const output,
                   call({"sinfo", "--noheader", "--all", "--Node", "--Format=" + node_format()}));
    if (output.exit_code != 0) return failure("sinfo", output);
    return parse_nodes(output.out);
}

Result<ClusterConfig> CommandClient::cluster_config() {
    DET_TRY_ASSIGN(auto const output, call({"scontrol", "show", "config"}));
    if (output.exit_code != 0) return failure("scontrol", output);
    return parse_cluster_config(output.out);
}

Status CommandClient::requeue(JobRef const& job, RequeueScope scope) {
    std::vector<std::string> argv{"scontrol", "requeue"};
    if (scope == RequeueScope::incomplete) argv.push_back("Incomplete");
    argv.push_back(to_string(job));
    return tell("scontrol requeue", std::move(argv));
}

Status CommandClient::start_not_before(JobRef const& job, std::chrono::seconds from_now) {
    return tell("scontrol update", {"scontrol", "update", "JobId=" + to_string(job),
                                    fmt::format("StartTime=now+{}", from_now.count())});
}

}  // namespace det::slurm
