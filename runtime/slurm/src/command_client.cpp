#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "command_environment.hpp"
#include "slurm_errors.hpp"

namespace det::slurm {
namespace {

// In a federation, the higher bits of a job number hold the number of the cluster.
constexpr std::uint32_t largest_local_job = 0x03FFFFFF;

/// The error message of a command that failed.
std::string_view error_message_of(ProcessOutput const& output) {
    return trim(output.err.empty() ? output.out : output.err);
}

/// The error messages among the lines that a command prints with --verbose; all lines if there are none.
std::string without_verbose_lines(std::string const& err) {
    std::vector<std::string> errors;
    for (auto const& line : split_lines(err)) {
        if (line.find("error: ") != std::string_view::npos) errors.emplace_back(line);
    }
    return errors.empty() ? err : join(errors, "\n");
}

Error failure_of(std::string_view program, ProcessOutput const& output) {
    auto const message = error_message_of(output);
    if (!message.empty()) return failure(program, message);
    return failure(program, fmt::format("nothing, and ended with exit code {}", output.exit_code));
}

/// Converts the error of a command that is missing or timed out to an error about Slurm.
Error as_slurm_error(std::string_view program, Error const& error) {
    if (error.code == codes::no_such_file) {
        return Error{codes::slurm_unreachable, fmt::format("'{}' is not installed here", program),
                     "run this on a login node of the cluster, or install Slurm's client commands"};
    }
    return error.code == codes::timed_out ? unreachable(program, error.message) : error;
}

/// What sbatch or det-submit says if the request was sent and no answer came.
constexpr char const* unanswered[] = {"timed out", "did not end within",
                                      "Zero Bytes were transmitted or received", "Message receive failure"};

/// Changes the error of an sbatch that was not answered to submission_unclear: Slurm may have the job.
Error as_unclear_submission(Error error) {
    bool const was_sent = std::ranges::any_of(error.notes, [](std::string const& note) {
        return std::ranges::any_of(unanswered,
                                   [&](char const* words) { return note.find(words) != std::string::npos; });
    });
    if (error.code != codes::slurm_unreachable || !was_sent) return error;
    error.code = codes::submission_unclear;
    error.message = "Slurm did not answer sbatch: the job may or may not exist";
    return error;
}

// While other tasks of an array wait, slurmctld (22.05 at least) delivers a signal to a running task and
// answers that the job is in a transitional state. scancel prints this and repeats the signal, up to ten
// times with pauses of 5 s and more.
constexpr char repeating_delivered_signal[] = "Job is in transitional state, retrying";

// Slurm 24.11.5 and 26.05.5 refuse a change of the partition at random: slurmctld answers with an errno of an
// earlier system call (measured: 33 of 120 calls on 24.11.5, 36 of 80 on 26.05.5, up to ten in a row). The
// same call succeeds later.
constexpr int update_attempts_max = 40;
constexpr auto update_retry_pause = std::chrono::milliseconds(250);

bool is_random_refusal(Error const& error) {
    return std::ranges::any_of(error.notes, [](std::string const& note) {
        return note.find("Resource temporarily unavailable") != std::string::npos ||
               note.find("Interrupted system call") != std::string::npos;
    });
}

/// Whether slurmctld did not answer, but the command did not time out: slurmctld is restarting or busy.
bool is_unanswered(std::vector<Result<ProcessOutput>> const& outputs) {
    return std::any_of(outputs.begin(), outputs.end(), [](auto const& output) {
        return output && output->exit_code != 0 && says_unreachable(error_message_of(*output));
    });
}

/// A separator for fields that users choose. It is random, made for each query, and passed to squeue in its
/// environment, which other users cannot see, so that no user can put it into a job's name. It does not begin
/// with a digit, because squeue would read a digit as a width.
std::string make_separator() {
    auto const uuid = make_uuid();
    return fmt::format("~{}{}~", uuid.substr(0, 8), uuid.substr(24));
}

/// Whether slurmctld hides something from this user (PrivateData).
bool is_denied(ProcessOutput const& output) {
    return output.exit_code != 0 &&
           error_message_of(output).find("Access/permission denied") != std::string_view::npos;
}

/// The job in what sbatch --parsable printed: "123" or "123;cluster". A wrapper of the site may print more,
/// so the last line of this form counts.
std::optional<std::uint32_t> parse_submitted_job(std::string_view printed) {
    std::optional<std::uint32_t> job;
    for (auto const line : split_lines(printed)) {
        auto const text = trim(line);
        auto const number = parse_integer<std::uint32_t>(text.substr(0, text.find(';')));
        if (number && *number > 0) job = number;
    }
    return job;
}

/// The outputs of several calls of one program. Fails with the first call that has failed.
Result<std::vector<std::string>> outputs_of(std::vector<Result<ProcessOutput>> answers,
                                            std::string_view program) {
    std::vector<std::string> texts;
    for (auto& answer : answers) {
        DET_TRY_ASSIGN(auto output, std::move(answer));
        if (output.exit_code != 0) return failure_of(program, output);
        texts.push_back(std::move(output.out));
    }
    return texts;
}

/// scontrol prints its prompt before it reads a command, and again before it finds the end of its input. One
/// prompt alone: a wrapper of the site has read the command.
bool has_found_no_command(std::string_view output) {
    constexpr std::string_view prompt = "scontrol: ";
    auto const first = output.find(prompt);
    return first != output.npos && output.find(prompt, first + prompt.size()) == output.npos;
}

}  // namespace

CommandClient::CommandClient(ProcessRunner& runner, Environment environment)
    : CommandClient(runner, std::move(environment), system_clock_) {}

CommandClient::CommandClient(ProcessRunner& runner, Environment environment, Clock& clock,
                             CallTimeouts timeouts)
    : runner_(runner),
      clock_(clock),
      environment_(environment_for_reading(std::move(environment))),
      timeouts_(timeouts) {}

Result<ProcessOutput> CommandClient::call(std::vector<std::string> argv) {
    return call_all({std::move(argv)}, environment_).front();
}

Result<ProcessOutput> CommandClient::run_command(Command const& command) {
    auto output = runner_.run(command);
    if (!output) return as_slurm_error(command.argv.front(), output.error());
    return output;
}

std::vector<Result<ProcessOutput>> CommandClient::query_all_with_retries(
    std::vector<std::vector<std::string>> const& argvs, Environment const& environment) {
    return read_with_retries(
        clock_, [&] { return call_all(argvs, environment); }, is_unanswered);
}

Result<ProcessOutput> CommandClient::query_with_retries(std::vector<std::string> argv) {
    return query_all_with_retries({std::move(argv)}, environment_).front();
}

std::vector<Result<ProcessOutput>> CommandClient::call_all(std::vector<std::vector<std::string>> argvs,
                                                           Environment const& environment) {
    std::vector<Command> commands;
    for (auto& argv : argvs) {
        auto const timeout = argv.front() == "sbatch" ? timeouts_.submission : timeouts_.other;
        commands.push_back({std::move(argv), environment, timeout});
    }
    auto outputs = runner_.run_all(commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if (!outputs[i]) outputs[i] = as_slurm_error(commands[i].argv.front(), outputs[i].error());
    }
    return outputs;
}

Result<ProcessOutput> CommandClient::call_sbatch(Submission const& submission,
                                                 std::vector<std::string> const& extra) {
    std::vector<std::string> argv{"sbatch"};
    argv.insert(argv.end(), extra.begin(), extra.end());
    argv.insert(argv.end(), submission.options.begin(), submission.options.end());
    argv.push_back(submission.script);
    DET_TRY_ASSIGN(auto output, call_all({std::move(argv)}, environment_for_submission(submission)).front());
    if (output.exit_code != 0) return failure_of("sbatch", output);
    return output;
}

Result<std::string> CommandClient::test_submission(Submission const& submission) {
    DET_TRY_ASSIGN(auto const output, call_sbatch(submission, {"--test-only"}));
    return std::string(trim(output.err));
}

Result<std::uint32_t> CommandClient::submit(Submission const& submission) {
    auto const answer = call_sbatch(submission, {"--parsable"});
    if (!answer) return as_unclear_submission(answer.error());
    auto const job = parse_submitted_job(answer->out);
    if (!job) {
        return Error{codes::slurm_output,
                     fmt::format("sbatch printed '{}' in place of a job id", trim(answer->out))};
    }
    if (*job > largest_local_job) return refuse_federation(*job);
    return *job;
}

Error CommandClient::refuse_federation(std::uint32_t job) {
    Error error{codes::not_supported,
                "this cluster is part of a federation, in which another cluster could run the job",
                "run det-submit on a cluster that is in no federation"};
    if (auto const cancelled = cancel({job, {}}); !cancelled)
        error.notes.push_back(fmt::format("job {} is still there: cancel it with scancel", job));
    return error;
}

Status CommandClient::run(std::string_view name, std::vector<std::string> argv) {
    DET_TRY_ASSIGN(auto const output, call(std::move(argv)));
    if (output.exit_code != 0) return failure_of(name, output);
    return Ok{};
}

Status CommandClient::hold(JobRef const& job) {
    return run("scontrol hold", {"scontrol", "hold", to_string(job)});
}

// Half of the time of an scontrol is its start: its libraries and slurm.conf. Without a command in its
// arguments it reads commands from its input, so it can be started while sbatch waits for slurmctld.
void CommandClient::prepare_release() {
    auto environment = environment_;
    // Slurm reads the commands with readline, which loads these files.
    environment.set("INPUTRC", "/dev/null");
    environment.set("TERM", "dumb");
    waiting_scontrol_ = runner_.start_ahead({{"scontrol"}, std::move(environment), timeouts_.other});
}

Status CommandClient::release(JobRef const& job) {
    if (auto const scontrol = std::exchange(waiting_scontrol_, nullptr)) {
        auto const output = scontrol->finish(fmt::format("release {}\n", to_string(job)));
        if (output && output->exit_code == 0 && !has_found_no_command(output->out)) return Ok{};
        if (!output && output.error().code == codes::timed_out)
            return as_slurm_error("scontrol release", output.error());
        // The release may have had an effect: the job of a second one might run already.
        if (output && says_unreachable(error_message_of(*output)))
            return failure_of("scontrol release", *output);
        // A wrapper of the site may need a command. If the release itself has failed, a second one says why.
    }
    return run("scontrol release", {"scontrol", "release", to_string(job)});
}

Status CommandClient::cancel(JobRef const& job) { return run("scancel", {"scancel", to_string(job)}); }
Status CommandClient::cancel_pending_tasks(JobRef const& array) {
    return run("scancel", {"scancel", "--state=PENDING", to_string(array)});
}

Result<std::vector<CommandClient::Step>> CommandClient::query_steps(JobRef const& job) {
    DET_TRY_ASSIGN(auto const output, call({"squeue", "--steps", "--me", "--noheader", "--format=%i %j"}));
    if (output.exit_code != 0) return failure_of("squeue", output);
    auto const prefix = to_string(job) + ".";
    std::vector<Step> steps;
    for (auto const& line : split_lines(output.out)) {
        auto const row = trim(line);
        auto const id = row.substr(0, row.find(' '));
        if (id.starts_with(prefix))
            steps.push_back({std::string(id), std::string(trim(row.substr(id.size())))});
    }
    return steps;
}

Status CommandClient::cancel_step(JobRef const& job, std::string_view name) {
    DET_TRY_ASSIGN(auto const steps, query_steps(job));
    for (auto const& step : steps) {
        if (step.name == name) DET_TRY(run("scancel", {"scancel", step.id}));
    }
    return Ok{};
}

Status CommandClient::cancel_steps(JobRef const& job) {
    DET_TRY_ASSIGN(auto const steps, query_steps(job));
    std::vector<std::string> argv{"scancel"};
    for (auto const& step : steps) {
        // Slurm's own steps, like "123.batch", have no number.
        auto const number = std::string_view(step.id).substr(step.id.rfind('.') + 1);
        if (parse_integer<std::uint32_t>(number)) argv.push_back(step.id);
    }
    if (argv.size() == 1) return Ok{};
    return run("scancel", std::move(argv));
}

Result<JobScript> CommandClient::query_script(JobRef const& job) {
    auto const name = to_string(job);
    auto answers = query_all_with_retries({{"scontrol", "write", "batch_script", name, "-"},
                                           {"squeue", "--noheader", "--jobs=" + name, "--format=%o"},
                                           {"scontrol", "show", "job", name, "--oneliner"}},
                                          environment_);
    DET_TRY_ASSIGN(auto texts, outputs_of(std::move(answers), "scontrol"));
    JobScript script{std::move(texts[0]), std::string(trim(texts[1])), "", 0};
    constexpr std::string_view mark = " AllocNode:Sid=";
    if (auto const at = texts[2].find(mark); at != std::string::npos) {
        auto const host = std::string_view(texts[2]).substr(at + mark.size());
        auto const colon = host.find(':');
        script.submit_host = host.substr(0, colon);
        if (colon != std::string_view::npos) {
            auto const session = host.substr(colon + 1);
            script.submit_session = parse_integer<pid_t>(session.substr(0, session.find(' '))).value_or(0);
        }
    }
    return script;
}

Status CommandClient::update_job(JobRef const& job, JobChange const& change) {
    std::vector<std::string> argv{"scontrol", "update", "JobId=" + to_string(job)};
    if (change.nice) argv.push_back(fmt::format("Nice={}", *change.nice));
    if (change.priority) argv.push_back(fmt::format("Priority={}", *change.priority));
    if (change.partition) argv.push_back("Partition=" + *change.partition);
    if (change.excluded_nodes) argv.push_back("ExcNodeList=" + *change.excluded_nodes);
    if (change.time_limit) argv.push_back("TimeLimit=" + *change.time_limit);
    if (change.running_tasks_max)
        argv.push_back(fmt::format("ArrayTaskThrottle={}", *change.running_tasks_max));
    if (change.comment) argv.push_back("Comment=" + *change.comment);
    if (change.is_requeueable) argv.push_back(fmt::format("Requeue={}", *change.is_requeueable ? 1 : 0));
    for (int attempt = 1;; ++attempt) {
        auto done = run("scontrol update", argv);
        if (done || attempt == update_attempts_max || !is_random_refusal(done.error())) return done;
        clock_.sleep_for(update_retry_pause);
    }
}

Status CommandClient::move_to_top(std::vector<JobRef> const& jobs) {
    std::vector<std::string> names;
    for (auto const& job : jobs) names.push_back(to_string(job));
    return run("scontrol top", {"scontrol", "top", join(names, ",")});
}

Status CommandClient::signal_batch(JobRef const& job, std::string_view signal) {
    // With --ctld, scancel of 26.05 sends the request once. Without --verbose, scancel does not say that a
    // job has just ended, and fails without a message.
    Command command{
        {"scancel", "--verbose", "--ctld", "--batch", fmt::format("--signal={}", signal), to_string(job)},
        environment_,
        timeouts_.other,
        repeating_delivered_signal};
    DET_TRY_ASSIGN(auto const output, run_command(command));
    bool const is_delivered = output.err.find(repeating_delivered_signal) != std::string::npos;
    if (output.exit_code == 0 || is_delivered) return Ok{};
    return failure_of("scancel", {output.exit_code, output.out, without_verbose_lines(output.err)});
}

Result<std::vector<JobStatus>> CommandClient::query_queue(QueueFilter const& filter) {
    std::vector<std::string> argv{"squeue", "--noheader", "--array", "--all"};
    auto const separator = make_separator();
    auto environment = environment_;
    environment.set("SQUEUE_FORMAT2", squeue_format(separator));
    if (filter.user) argv.push_back("--user=" + *filter.user);
    if (filter.include_finished) argv.push_back("--states=all");
    if (!filter.jobs.empty()) {
        std::vector<std::string> jobs;
        for (auto const job : filter.jobs) jobs.push_back(std::to_string(job));
        argv.push_back("--jobs=" + join(jobs, ","));
    }
    DET_TRY_ASSIGN(auto const output, query_all_with_retries({std::move(argv)}, environment).front());
    // squeue fails if the only job in the filter is one that slurmctld has forgotten.
    if (output.exit_code != 0 && output.err.find("Invalid job id specified") != std::string::npos) {
        return std::vector<JobStatus>{};
    }
    if (output.exit_code != 0) return failure_of("squeue", output);
    return parse_squeue(output.out, separator);
}

Result<std::optional<JobStatus>> CommandClient::query_job(JobRef const& job) {
    DET_TRY_ASSIGN(auto jobs, query_queue({.jobs = {job.job}, .include_finished = true}));
    return pick_job(std::move(jobs), job);
}

Result<std::uint32_t> CommandClient::query_running_job_id(JobRef const& job) {
    auto const name = to_string(job);
    DET_TRY_ASSIGN(auto const output, query_with_retries({"squeue", "--noheader", "--states=RUNNING",
                                                          "--format=%A", "--jobs=" + name}));
    bool const is_unknown = output.err.find("Invalid job id specified") != std::string::npos;
    if (output.exit_code != 0 && !is_unknown) return failure_of("squeue", output);
    if (auto const number = parse_integer<std::uint32_t>(trim(output.out))) return *number;
    return Error{codes::no_such_job, fmt::format("job {} does not run", name)};
}

Result<std::vector<Partition>> CommandClient::query_partitions() {
    auto answers = query_all_with_retries(
        {{"scontrol", "show", "partition", "--oneliner"},
         {"sinfo", "--noheader", "--all", "--noconvert", "--format=" + node_group_format()}},
        environment_);
    DET_TRY_ASSIGN(auto const partitions, std::move(answers[0]));
    if (partitions.exit_code != 0) return failure_of("scontrol", partitions);
    DET_TRY_ASSIGN(auto const nodes, std::move(answers[1]));
    if (is_denied(nodes)) return parse_partitions_without_nodes(partitions.out);
    if (nodes.exit_code != 0) return failure_of("sinfo", nodes);
    return parse_partitions(partitions.out, nodes.out);
}

Result<std::vector<Node>> CommandClient::query_nodes() {
    DET_TRY_ASSIGN(auto const output, query_with_retries({"sinfo", "--noheader", "--all", "--noconvert",
                                                          "--Node", "--Format=" + node_format()}));
    if (is_denied(output)) return std::vector<Node>();
    if (output.exit_code != 0) return failure_of("sinfo", output);
    return parse_nodes(output.out);
}

Result<Accounting> CommandClient::query_accounting(std::string const& user, std::string const& cluster) {
    auto const show = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"sacctmgr", "--noheader", "--parsable2", "--readonly", "show"});
        return words;
    };
    // Associations are queried twice, because PrivateData may hide those of other users, but never one's own.
    auto answers =
        call_all({show({"associations", "cluster=" + cluster, "users=" + user, association_format()}),
                  show({"associations", "cluster=" + cluster, "users=", association_format()}),
                  show({"qos", qos_format()}), show({"user", "name=" + user, "format=User,DefaultAccount"})},
                 environment_);
    DET_TRY_ASSIGN(auto texts, outputs_of(std::move(answers), "sacctmgr"));
    return parse_accounting(texts[0] + texts[1], texts[2], texts[3]);
}

Result<std::vector<FairShare>> CommandClient::query_fair_shares(std::string const& user) {
    DET_TRY_ASSIGN(auto const output,
                   query_with_retries({"sshare", "--noheader", "--parsable2", "--users=" + user,
                                       "--format=Account,User,FairShare"}));
    if (output.exit_code != 0) return failure_of("sshare", output);
    return parse_fair_shares(output.out);
}

Result<std::vector<JobExecution>> CommandClient::query_executions(std::vector<std::uint32_t> const& jobs) {
    std::vector<std::string> names;
    for (auto const job : jobs) names.push_back(std::to_string(job));
    if (names.empty()) return std::vector<JobExecution>();
    DET_TRY_ASSIGN(auto const output,
                   call({"sacct", "--duplicates", "--allocations", "--noheader", "--parsable2",
                         "--format=JobID,Start,End,NNodes", "--jobs=" + join(names, ",")}));
    if (output.exit_code != 0) return failure_of("sacct", output);
    return parse_executions(output.out);
}

Result<ClusterConfig> CommandClient::query_cluster_config() {
    DET_TRY_ASSIGN(auto const output, query_with_retries({"scontrol", "show", "config"}));
    if (output.exit_code != 0) return failure_of("scontrol", output);
    return parse_cluster_config(output.out);
}

Status CommandClient::requeue(JobRef const& job, RequeueScope scope) {
    std::vector<std::string> argv{"scontrol", "requeue"};
    if (scope == RequeueScope::incomplete) argv.push_back("Incomplete");
    argv.push_back(to_string(job));
    return run("scontrol requeue", std::move(argv));
}

Status CommandClient::requeue_held(JobRef const& job) {
    return run("scontrol requeuehold", {"scontrol", "requeuehold", "Incomplete", to_string(job)});
}

Status CommandClient::start_not_before(JobRef const& job, std::chrono::seconds from_now) {
    return run("scontrol update", {"scontrol", "update", "JobId=" + to_string(job),
                                   fmt::format("StartTime=now+{}", from_now.count())});
}

}  // namespace det::slurm
