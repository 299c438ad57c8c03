// Makes an experiment of a job that sbatch alone has started. What an experiment is, and where its root is,
// det-submit knows, which is in the directory of this program.
#include "script_in_job.hpp"

#include <det/command_line/options.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes create_timeout{10};
// By which Slurm hands `#SBATCH --det-requeue` to the job. A job that the script submits is not meant.
constexpr char plugin_option[] = "_SLURM_SPANK_OPTION_det_det_requeue";

struct Call {
    std::vector<std::string> options;  // of det-submit
    std::string script;
    std::vector<std::string> arguments;
};

Result<Call> parse_call(std::vector<std::string> const& words) {
    std::vector<std::string> overrides;
    std::optional<std::string> of_template;
    std::vector<command_line::Option> const table{{"--config", &overrides, "key=value"},
                                                  {"--template", &of_template, "a configuration template"}};
    DET_TRY_ASSIGN(auto const parsed, command_line::parse(table, words, command_line::Words::leading));
    if (parsed.remaining.empty())
        return Error{codes::usage, "det-launch script needs a script", "see 'det-launch script --help'"};
    Call call{{}, parsed.remaining.front(), {parsed.remaining.begin() + 1, parsed.remaining.end()}};
    for (auto const& each : overrides) call.options.push_back("--config=" + each);
    if (of_template) call.options.push_back("--template=" + *of_template);
    return call;
}

/// The name of the parent process; empty if it can't be read.
std::string read_parent_name() {
    auto const text = read_file(fmt::format("/proc/{}/cmdline", ::getppid()));
    return text ? text->substr(0, text->find('\0')) : "";
}

bool is_in_own_run(Environment const& environment) {
    auto const job = environment.find_non_empty("SLURM_JOB_ID");
    return job && environment.find(variables::run_job) == job;
}

/// Runs the script in a run of an experiment of this job, whose supervisor is there already.
Error run_script(Call const& call, Environment const& environment) {
    ExperimentLayout const experiment(environment.find(variables::experiment_path).value_or(""));
    std::error_code ignored;
    if (fs::equivalent(call.script, experiment.batch_script(), ignored)) {
        return Error{codes::usage, "the script of the experiment calls itself by det-launch script",
                     "write '[ \"$DET_RUN_JOB\" = \"$SLURM_JOB_ID\" ] || exec det-launch script \"$0\" "
                     "\"$@\"' in it"};
    }
    std::vector<std::string> argv{"/bin/bash", call.script};
    if (::access(call.script.c_str(), X_OK) == 0) argv = {fs::absolute(call.script, ignored)};
    argv.insert(argv.end(), call.arguments.begin(), call.arguments.end());
    return replace_process(argv, environment);
}

Status check_job(Environment const& environment) {
    if (!environment.find_non_empty("SLURM_JOB_ID")) {
        return Error{codes::not_in_slurm, "SLURM_JOB_ID is not set: this is no batch job of Slurm",
                     "'exec det-launch script' is a line of a script that is submitted with sbatch"};
    }
    if (environment.find_non_empty("SLURM_HET_SIZE")) {
        return Error{codes::not_supported, "heterogeneous jobs are not supported",
                     "a trial is requeued as a whole, which Slurm can't do with them"};
    }
    return check_is_batch_process(read_parent_name());
}

/// Appends what det-submit says to the experiment's own file: the job's output is that of the script.
void keep_messages(std::string const& messages, fs::path const& experiment, Environment const& environment) {
    auto const array = environment.find_non_empty("SLURM_ARRAY_JOB_ID");
    auto const task = environment.find_non_empty("SLURM_ARRAY_TASK_ID");
    auto const job = array && task ? *array + "_" + *task : environment.find("SLURM_JOB_ID").value_or("");
    auto const path = ExperimentLayout(experiment).slurm_output(job);
    UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) share_new_file(file.get(), path);
    if (file) (void)write_all(file.get(), messages, path.string());
}

struct Answer {
    std::vector<std::string> command;
    std::string experiment;
};

Result<Answer> parse_answer(std::string const& text) {
    auto const json = Json::parse(text, nullptr, false);
    bool const is_answer = json.is_object() && json.contains("command") && json.contains("path") &&
                           json["command"].is_array() && json["path"].is_string();
    if (!is_answer) return Error{codes::internal, "det-submit did not say what to run"};
    Answer answer{{}, json["path"].get<std::string>()};
    for (auto const& word : json["command"]) answer.command.push_back(word.get<std::string>());
    return answer;
}

/// What det-submit has said, with its exit code.
Error error_of(ProcessOutput const& output) {
    Error error{{codes::process.name, static_cast<ExitCode>(output.exit_code)},
                "no experiment could be made of this job"};
    for (auto const line : split_lines(output.err)) error.notes.emplace_back(line);
    return error;
}

Result<Answer> ask_det_submit(Call const& call, Environment const& environment) {
    auto const program = sibling_program("det-submit");
    if (::access(program.c_str(), X_OK) != 0) {
        return Error{codes::no_such_file, fmt::format("there is no '{}' on this node", program.string()),
                     "install det-submit there too: it makes the experiment of the job"};
    }
    Command command{
        {program, "experiment", "create", "--running-job", "--json"}, environment, create_timeout};
    auto& argv = command.argv;
    argv.insert(argv.end(), call.options.begin(), call.options.end());
    argv.insert(argv.end(), {"--", call.script});  // a script without a first line "#!" too
    argv.insert(argv.end(), call.arguments.begin(), call.arguments.end());
    DET_TRY_ASSIGN(auto const output, SystemProcessRunner().run(command));
    if (output.exit_code != 0) return error_of(output);
    DET_TRY_ASSIGN(auto answer, parse_answer(output.out));
    if (!answer.experiment.empty()) keep_messages(output.err, answer.experiment, environment);
    return answer;
}

Result<Answer> plan_job(Call const& call, Environment const& environment) {
    DET_TRY(check_job(environment));
    return ask_det_submit(call, environment);
}

}  // namespace

Status check_is_batch_process(std::string_view parent) {
    constexpr std::string_view slurmstepd = "slurmstepd:";
    if (parent.empty()) return Ok{};  // the site hides the processes of other users
    if (!parent.starts_with(slurmstepd)) {
        return Error{codes::usage,
                     "the shell of the batch script is still there, and would get Slurm's signals",
                     "call it with exec: 'exec det-launch script job.sh'"};
    }
    if (parent.find(".batch]") != std::string_view::npos) return Ok{};
    return Error{codes::not_in_slurm, "this is a step of srun, and no batch script",
                 "'exec det-launch script' is a line of a script that is submitted with sbatch"};
}

Error run_script_in_job(std::vector<std::string> const& arguments, Environment environment) {
    auto const call = parse_call(arguments);
    if (!call) return call.error();
    if (is_in_own_run(environment)) return run_script(*call, environment);
    auto const answer = plan_job(*call, environment);
    if (!answer) return answer.error();
    environment.unset(plugin_option);
    return replace_process(answer->command, environment);
}

}  // namespace det::launch
