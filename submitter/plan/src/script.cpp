#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/script.hpp>
#include <det/protocol/trusted_ancestors.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

std::string gpus_of_a_node(SubmissionPlan const& plan) {
    if (plan.gpu_type.empty()) return fmt::format("gpu:{}", plan.node.gpus);
    return fmt::format("gpu:{}:{}", plan.gpu_type, plan.node.gpus);
}

bool has_option(config::SbatchArgs const& args, std::string_view name) {
    return std::any_of(args.args.begin(), args.args.end(), [&](auto const& arg) { return arg.name == name; });
}

/// Whether the output of a job that is requeued is appended to a file that only this job writes. sbatch alone
/// would truncate it, unless the header or the site says otherwise.
bool appends_output(SubmissionPlan const& plan) {
    return !has_option(plan.sbatch_args, "open-mode") && shared_output_file(plan.sbatch_args).empty();
}

std::string requeue_option(SubmissionPlan const& plan) {
    return plan.expedites_requeue ? "--requeue=expedite" : "--requeue";
}

/// The #SBATCH lines of a user's batch script. The options of its header are on the command line; its array
/// is digits.
std::string lines_of_batch_script(SubmissionPlan const& plan, ScriptInput const& input) {
    auto const& script = *plan.batch_script;
    auto const& array = input.array;
    auto indices = script.indices;
    if (indices.empty()) {
        indices = array.indices();
    } else if (array.running_max > 0) {
        indices += fmt::format("%{}", array.running_max);
    }
    auto lines = fmt::format("#SBATCH --array={}\n#SBATCH {}", indices, requeue_option(plan));
    if (appends_output(plan)) {
        lines +=
            "\n\n# The script does not ask for --open-mode=append: its own steps do not append.\n"
            "unset SLURM_OPEN_MODE";
    }
    return lines;
}

/// A script of the configuration starts its own steps: a plain srun in it starts a task per slot.
int tasks_per_node(SubmissionPlan const& plan) {
    return plan.launch == Launch::script ? plan.shape.ranks_per_node() : 1;
}

std::string nodes_of_job(SubmissionPlan const& plan) {
    if (!plan.is_elastic()) return std::to_string(plan.nodes());
    return fmt::format("{}-{}", plan.least_nodes(), plan.nodes());
}

/// Renders the #SBATCH lines. They contain det-submit's own words, numbers, and a GPU type, which is a plain
/// word.
std::string sbatch_options(SubmissionPlan const& plan, ScriptInput const& input) {
    if (plan.batch_script) return lines_of_batch_script(plan, input);
    std::string lines;
    auto const add = [&](std::string const& option) { lines += fmt::format("#SBATCH {}\n", option); };
    add(fmt::format("--job-name=exp-{}", input.experiment.value));
    add("--array=" + input.array.indices());
    add("--nodes=" + nodes_of_job(plan));
    auto const tasks = tasks_per_node(plan);
    // With a number of tasks Slurm gives a range of nodes only as many nodes as it has tasks: the fewest. The
    // steps say how many tasks they have.
    if (!plan.is_elastic()) add(fmt::format("--ntasks-per-node={}", tasks));
    if (plan.node.is_exclusive) add("--exclusive");
    if (plan.node.cpus) add(fmt::format("--cpus-per-task={}", std::max(1, *plan.node.cpus / tasks)));
    if (auto const memory = plan.node.memory_mib)
        add(*memory == 0 ? "--mem=0" : fmt::format("--mem={}M", *memory));
    if (plan.node.gpus > 0) add("--gres=" + gpus_of_a_node(plan));
    add(requeue_option(plan));
    if (plan.spare_nodes > 0) add("--no-kill");
    add("--open-mode=append");
    // Limits of the login shell (locked memory, open files) do not suit ranks; those of slurmd do.
    add("--propagate=NONE");
    lines.pop_back();
    return lines;
}

/// Returns a shell expression for the first trial of an array task.
std::string trial_of_task(JobArray const& array) {
    if (array.first_trial == 0 && array.lanes == 1) return "\"${SLURM_ARRAY_TASK_ID}\"";
    auto const task =
        array.lanes == 1 ? "SLURM_ARRAY_TASK_ID" : fmt::format("{} * SLURM_ARRAY_TASK_ID", array.lanes);
    return array.first_trial == 0 ? fmt::format("\"$(({}))\"", task)
                                  : fmt::format("\"$(({} + {}))\"", array.first_trial, task);
}

std::string describe_nodes(SubmissionPlan const& plan) {
    if (plan.batch_script) return "The nodes that the batch script asks for,";
    auto const nodes = plan.is_elastic() ? fmt::format("{} to {}", plan.least_nodes(), plan.nodes())
                                         : std::to_string(plan.nodes());
    auto const text = fmt::format("{} {} {}", nodes, plan.node.is_exclusive ? "whole" : "shared",
                                  plural("node", plan.nodes()));
    return plan.spare_nodes == 0 ? text : fmt::format("{}, {} of them to spare,", text, plan.spare_nodes);
}

std::string describe_trials(SubmissionPlan const& plan) {
    if (plan.batch_script) return "it once";
    auto const per_node = plan.shape.slots_per_node;
    auto const slots = count_text(per_node, "slot");
    return plan.lanes == 1 ? fmt::format("one trial with {} on each", slots)
                           : fmt::format("{} trials at a time with {} each", plan.lanes, slots);
}

/// Adds the pool's options besides its partition, and the plan's time limit and excluded nodes. They are on
/// sbatch's command line, not in the script, because they can contain text of the administrator.
void add_pool_options(std::vector<std::string>& options, SubmissionPlan const& plan) {
    auto const add = [&](std::string_view name, std::optional<std::string> const& value) {
        if (value && !value->empty()) options.push_back(fmt::format("--{}={}", name, *value));
    };
    add("qos", plan.pool.qos);
    add("account", plan.pool.account);
    add("reservation", plan.pool.reservation);
    add("constraint", plan.pool.constraint);
    add("time", plan.time_limit);
    if (!plan.batch_script) add("time-min", plan.min_time);
    add("exclude", plan.exclude);
}

/// Escapes control characters, newlines too, so that the text stays within one comment line.
std::string comment_text(std::string_view text) { return escape_control(text); }

/// The option of `det-launch trial`, with a space before it; empty for an empty list.
std::string trusted_ancestors(std::vector<std::string> const& paths) {
    if (paths.empty()) return "";
    return fmt::format(" {} {}", trusted_ancestors_option, quote_for_shell(join(paths, ":")));
}

using Values = std::map<std::string, std::string, std::less<>>;

Result<std::string> value_of(Values const& values, std::string_view name) {
    if (auto const found = values.find(name); found != values.end()) return found->second;
    return Error{codes::bad_value,
                 fmt::format("the job template asks for an unknown value '{{{{{}}}}}'", name)};
}

/// Whether a pattern of a file's name has the job's number: "%j", "%A", also with a width, "%8j".
bool has_job_number(std::string_view pattern) {
    for (auto at = pattern.find('%'); at != std::string_view::npos; at = pattern.find('%', at + 1)) {
        auto const letter = pattern.find_first_not_of("0123456789", at + 1);
        if (letter != std::string_view::npos &&
            std::string_view("jJA").find(pattern[letter]) != std::string_view::npos)
            return true;
    }
    return false;
}

/// The name of the jobs of an experiment, whose directory has its number as its name.
std::string job_name_of_experiment(std::string name, ExperimentLayout const& experiment) {
    auto const number = experiment.path().filename().string();
    for (auto at = name.find("%i"); at != std::string::npos; at = name.find("%i", at + number.size()))
        name.replace(at, 2, number);
    return name;
}

void add_partition(std::vector<std::string>& options, site::Pool const& pool) {
    if (!pool.passes_partition) return;
    options.push_back("--partition=" + (pool.partitions.empty() ? pool.partition : pool.partitions));
}

/// The name of an option: "nodes" of "--nodes=2".
std::string_view name_of(std::string_view option) { return option.substr(2, option.find('=') - 2); }

/// Adds the options of a pool that the configuration names, and the nice, unless the header has them.
void add_options_below_header(std::vector<std::string>& options, SubmissionPlan const& plan) {
    std::vector<std::string> below;
    if (plan.batch_script->uses_pool) {
        add_partition(below, plan.pool);
        auto pool_plan = plan;
        pool_plan.exclude.clear();
        add_pool_options(below, pool_plan);
    }
    if (plan.nice > 0) below.push_back(fmt::format("--nice={}", plan.nice));
    for (auto& option : below) {
        if (!has_option(plan.sbatch_args, name_of(option))) options.push_back(std::move(option));
    }
}

/// The pattern of a file for a job that is no array for its user: Slurm replaces %a by the number of no task
/// there, and here the job is an array of one task.
std::string without_task_number(std::string_view pattern) {
    constexpr std::string_view no_task = "4294967294";
    std::string result;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        auto const letter =
            pattern[at] == '%' ? pattern.find_first_not_of("0123456789", at + 1) : std::string_view::npos;
        if (letter == std::string_view::npos) {
            result += pattern[at];
        } else if (pattern[letter] == 'a') {
            result += no_task;
            at = letter;
        } else {
            result += pattern.substr(at, letter + 1 - at);
            at = letter;
        }
    }
    return result;
}

bool is_file_of_job(std::string_view option) {
    return option == "output" || option == "error" || option == "input";
}

/// What sbatch does by itself for a script, and does not do here, because the job is always an array, and is
/// submitted from another file. The output of a requeued job is appended to a file that only this job writes.
void add_defaults_of_sbatch(std::vector<std::string>& options, SubmissionPlan const& plan) {
    auto const& script = *plan.batch_script;
    auto const& header = plan.sbatch_args;
    if (!has_option(header, "job-name")) options.push_back("--job-name=" + script.job_name);
    if (!has_option(header, "output") && script.indices.empty()) options.push_back("--output=slurm-%j.out");
    if (appends_output(plan)) options.push_back("--open-mode=append");
}

std::vector<std::string> options_of_batch_script(SubmissionPlan const& plan, std::string_view comment) {
    std::vector<std::string> options{fmt::format("--comment={}", comment),
                                     "--chdir=" + plan.batch_script->working_directory};
    add_options_below_header(options, plan);
    for (auto arg : plan.sbatch_args.args) {
        bool const is_elsewhere = arg.name == "array" || arg.name == "chdir";
        if (arg.name == "exclude" && !plan.exclude.empty()) arg.value = plan.excluded_nodes();
        bool const has_no_array = plan.batch_script->indices.empty();
        if (has_no_array && arg.value && is_file_of_job(arg.name))
            arg.value = without_task_number(*arg.value);
        if (!is_elsewhere) options.push_back(arg.text());
    }
    if (!plan.exclude.empty() && !has_option(plan.sbatch_args, "exclude"))
        options.push_back("--exclude=" + plan.exclude);
    add_defaults_of_sbatch(options, plan);
    if (!plan.wckey.empty()) options.push_back("--wckey=" + plan.wckey);
    return options;
}

}  // namespace

std::string shared_output_file(config::SbatchArgs const& header) {
    for (auto const* name : {"output", "error"}) {
        auto const file = header.find(name);
        bool const is_kept = !file || file->empty() || *file == "none" || file->starts_with("/dev/");
        if (!is_kept && !has_job_number(*file)) return *file;
    }
    return "";
}

Result<std::string> render_script(std::string_view text, SubmissionPlan const& plan,
                                  ScriptInput const& input) {
    Values const values{
        {"sbatch_options", sbatch_options(plan, input)},
        {"det_launch", quote_for_shell(input.det_launch.string())},
        {"det_batch", quote_for_shell((input.det_launch.parent_path() / "det-batch").string())},
        {"trial", trial_of_task(input.array)},
        {"trusted_ancestors", trusted_ancestors(input.trusted_ancestors)},
        {"experiment_path", quote_for_shell(input.experiment_path.string())},
        {"#experiment", std::to_string(input.experiment.value)},
        {"#name", comment_text(input.experiment_name)},
        {"#nodes", describe_nodes(plan)},
        {"#trials", describe_trials(plan)},
        {"#pool", comment_text(plan.pool.name)},
    };
    if (!input.trusted_ancestors.empty() && text.find("{{trusted_ancestors}}") == std::string_view::npos) {
        return Error{codes::bad_value, "the job template does not pass on the site's trusted_ancestors",
                     "write '{{det_launch}} trial{{trusted_ancestors}} --experiment ...' in its last line"};
    }
    std::string script;
    for (;;) {
        auto const open = text.find("{{");
        script += text.substr(0, open);
        if (open == std::string_view::npos) return script;
        auto const close = text.find("}}", open);
        if (close == std::string_view::npos)
            return Error{codes::bad_value, "the job template has a '{{' without '}}'"};
        DET_TRY_ASSIGN(auto const value, value_of(values, text.substr(open + 2, close - open - 2)));
        script += value;
        text.remove_prefix(close + 2);
    }
}

std::vector<std::string> sbatch_command_line_options(SubmissionPlan const& plan,
                                                     ExperimentLayout const& experiment,
                                                     std::string_view comment) {
    if (plan.batch_script) return options_of_batch_script(plan, comment);
    std::vector<std::string> options;
    add_partition(options, plan.pool);
    options.insert(options.end(), {"--output=" + experiment.slurm_output().string(),
                                   fmt::format("--comment={}", comment), "--chdir=/"});
    // An option of the command line overrides the line of the script.
    if (!plan.job_name.empty())
        options.push_back("--job-name=" + job_name_of_experiment(plan.job_name, experiment));
    add_pool_options(options, plan);
    auto const& users = plan.sbatch_args.args;
    bool const is_nice_theirs =
        std::any_of(users.begin(), users.end(), [](auto const& arg) { return arg.name == "nice"; });
    if (!is_nice_theirs && plan.nice > 0) options.push_back(fmt::format("--nice={}", plan.nice));
    for (auto arg : users) {
        // The script has an #SBATCH line for whole nodes, and the pool has the user's values of its options.
        if (arg.name == "exclusive" || is_option_of_pool(arg.name)) continue;
        // sbatch uses only the last --gres or --exclude, so the user's must include det-submit's.
        if (arg.name == "gres" && arg.value && plan.node.gpus > 0)
            arg.value = gpus_of_a_node(plan) + "," + *arg.value;
        if (arg.name == "exclude" && arg.value && !plan.exclude.empty()) arg.value = plan.excluded_nodes();
        options.push_back(arg.text());
    }
    // sbatch uses the last --wckey, so the site's value overrides one of the user.
    if (!plan.wckey.empty()) options.push_back("--wckey=" + plan.wckey);
    return options;
}

}  // namespace det::plan
