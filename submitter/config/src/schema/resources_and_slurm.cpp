#include <det/config/sbatch_args.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/bind_policy.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constinit Type const priority = integer_between(1, 99);

// A memory size: 4294967296, "4G", "1.5 gb".
constexpr Type const* size_alternatives[] = {&non_negative_integer, &text};

void require_memory_size(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!value.is_text() || parse_memory_size(*value.text())) return;
    checker.refuse_value(value, path.text() + " must be a valid memory size, found '" + *value.text() + "'",
                         "for example 4G or '1.5 GiB'");
}

yaml::Node size_in_bytes(yaml::Node const& value) {
    if (!value.is_text()) return value;
    auto const bytes = parse_memory_size(*value.text());
    return bytes ? yaml::Node(yaml::Node::Scalar(*bytes), value.location()) : value;
}

constinit Type const memory_size{.shape = Shape::either,
                                 .expected = "a memory size",
                                 .alternatives = size_alternatives,
                                 .merge = Merge::atomic,
                                 .rule = require_memory_size,
                                 .normalise = size_in_bytes};

// A device: {host_path, container_path, mode}, or "/host:/container:mode".
constexpr Key device_keys[] = {
    required({"host_path", text, "", "the device on the host", into<&Device::host_path>}),
    required({"container_path", text, "", "the device in the container", into<&Device::container_path>}),
    {"mode", text, "mrw", "permissions: m (mknod), r (read), w (write)", into<&Device::mode>},
};
constinit Type const device_object = object_of(device_keys);
constexpr Type const* device_alternatives[] = {&device_object, &text};

struct DeviceText {
    std::string_view host_path, container_path;
    std::optional<std::string_view> mode;
};

std::optional<DeviceText> parse_device(std::string_view written) {
    auto const parts = split(written, ':');
    if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
    if (!parts[0].starts_with('/') || !parts[1].starts_with('/')) return std::nullopt;
    if (parts.size() == 2) return DeviceText{parts[0], parts[1], std::nullopt};
    if (parts[2].find_first_not_of("rwm") != std::string_view::npos) return std::nullopt;
    return DeviceText{parts[0], parts[1], parts[2]};
}

void require_device(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!value.is_text() || parse_device(*value.text())) return;
    checker.refuse_value(
        value, path.text() + " must be /host/path:/container/path[:mode], found '" + *value.text() + "'");
}

yaml::Node device_as_object(yaml::Node const& value) {
    auto const device = value.is_text() ? parse_device(*value.text()) : std::nullopt;
    if (!device) return value;
    auto const entry = [&](std::string_view key, std::string_view part) {
        return yaml::Node::Entry{std::string(key), value.location(),
                                 yaml::Node(yaml::Node::Scalar(std::string(part)), value.location())};
    };
    std::vector entries = {entry("host_path", device->host_path),
                           entry("container_path", device->container_path)};
    if (device->mode) entries.push_back(entry("mode", *device->mode));
    return yaml::Node(std::move(entries), value.location());
}

constinit Type const device{.shape = Shape::either,
                            .expected = "a map or a string",
                            .alternatives = device_alternatives,
                            .rule = require_device,
                            .normalise = device_as_object};
constinit Type const devices{
    .shape = Shape::list, .item = &device, .merge = Merge::by_item_key, .item_key = "container_path"};

constexpr Key resources_keys[] = {
    {"slots_per_trial", trial_slots, "1",
     "ranks of a trial, one slot each; 0: a task that needs none; {min: 8, max: 32}: an elastic trial, each "
     "run "
     "of which has the whole nodes that Slurm has free",
     assign_trial_slots, by_det_submit("the number of nodes and ranks", if_batch_script)},
    {"max_slots", non_negative_integer, "", "maximum number of slots of all trials at the same time",
     into<&Resources::max_slots>,
     by_det_submit("the number of tasks of the job array that run at once", if_batch_script)},
    {"resource_pool", text, R"("")", "the resource pool; empty: the default pool",
     into<&Resources::resource_pool>, by_det_submit("the partition and the options of its pool")},
    {"priority", priority, "", "1 to 99; above 42: behind equal jobs; a lower number runs earlier",
     into<&Resources::priority>, by_det_submit("the nice of the jobs: 2 for 43, 139 for 99", if_nice_is_set)},
    {"weight", number, "1", "weight for a fair-share scheduler", into<&Resources::weight>,
     no_effect("Slurm shares by the weights of accounts and users, not of jobs")},
    {"shm_size", memory_size, "", "shared memory, for example 4G", into<&Resources::shm_size_bytes>,
     by_det_submit("podman's --shm-size", if_without_image)},
    {"devices", devices, "[]", "device files for the container", into<&Resources::devices>,
     by_det_submit("podman's --device", if_without_image)},
    {"is_single_node", boolean, "", "true: all slots must be on one node", into<&Resources::is_single_node>,
     by_det_submit("more than one node is refused", if_batch_script)},
    {"native_parallel", boolean, "false", "for Determined's legacy trial classes", no_field,
     no_effect("Determined no longer reads it")},
    {"slots", integer, "", "", no_field, ignored("only commands read it, trials have slots_per_trial")},
    {"agent_label", text, "", "", no_field, ignored("agent labels have become resource pools")},
};

void require_target(yaml::Node const& value, Path const& path, Checker& checker) {
    if (*value.text() == ".")
        checker.refuse_value(value, path.text() + R"(: container_path must not be ".")");
}
constinit Type const container_path{.shape = Shape::text, .rule = require_target};

constexpr Key bind_mount_keys[] = {
    required({"host_path", absolute_path, "", "the directory on the host", into<&BindMount::host_path>}),
    required({"container_path", container_path, "", "the path in the container",
              into<&BindMount::container_path>}),
    {"read_only", boolean, "false", "true: read-only", into<&BindMount::read_only>},
    {"propagation", text, "rprivate", "mount propagation", into<&BindMount::propagation>},
};
constinit Type const bind_mount = object_of(bind_mount_keys);

// Keys that Determined does not have.
constexpr std::string_view launch_choices[] = {"node", "rank", "script"};
constexpr std::string_view checkpoint_format_choices[] = {"state", "torch"};
constinit Type const checkpoint_format = choice_of(checkpoint_format_choices);
constexpr std::string_view container_choices[] = {"optional", "required"};
constinit Type const container_use = choice_of(container_choices);
constinit Type const launch = choice_of(launch_choices);

void require_mpi_name(yaml::Node const& value, Path const& path, Checker& checker) {
    if (is_mpi_name(*value.text())) return;
    checker.refuse_value(
        value,
        fmt::format("{} must be default, none or a name that 'srun --mpi=list' shows, found '{}'",
                    path.text(), *value.text()),
        "for example pmix, pmix_v4, pmi2 or cray_shasta");
}
constinit Type const mpi{.shape = Shape::text, .rule = require_mpi_name};
constexpr std::string_view signal_choices[] = {"TERM", "INT", "HUP", "USR1", "USR2"};
constinit Type const signal_name = choice_of(signal_choices);
constinit Type const signal_names{.shape = Shape::list, .item = &signal_name};

constexpr std::string_view working_directory_choices[] = {"node-local", "shared"};
constinit Type const working_directory = choice_of(working_directory_choices);

/// Requires a relative path that stays below the working directory.
void require_directory_inside(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& written = *value.text();
    auto const parts = split(written, '/');
    bool const goes_up = std::find(parts.begin(), parts.end(), "..") != parts.end();
    if (!written.starts_with('/') && !goes_up && !clean_path(written).empty()) return;
    checker.refuse_value(
        value,
        fmt::format("{} must be a directory below the working directory, found '{}'", path.text(), written),
        "for example checkpoints/; slurm.working_directory: shared keeps all files");
}

yaml::Node clean_directory(yaml::Node const& value) {
    if (!value.is_text()) return value;
    return yaml::Node(yaml::Node::Scalar(clean_path(*value.text())), value.location());
}

constinit Type const directory_inside{
    .shape = Shape::text, .rule = require_directory_inside, .normalise = clean_directory};
constinit Type const directories_inside{
    .shape = Shape::list, .item = &directory_inside, .merge = Merge::as_set};
// A shell uses 126 and 127 for a command that it cannot run, and 128 and more for a signal.
constinit Type const exit_code = integer_between(1, 125);
constinit Type const exit_codes = list_of(exit_code);

void require_pattern(yaml::Node const& value, Path const& path, Checker& checker) {
    if (value.text()->empty())
        checker.refuse_value(value, path.text() + " is empty", "for example 'checkpoints/*.pt'");
    if (value.text()->find("**") != std::string::npos)
        checker.refuse_value(value, path.text() + ": '**' is not supported",
                             "name each level: 'logs/*/checkpoints/*'");
}
constinit Type const pattern{.shape = Shape::text, .rule = require_pattern};
constinit Type const patterns = list_of(pattern);
constexpr Type const* progress_glob_alternatives[] = {&pattern, &patterns};

yaml::Node pattern_as_list(yaml::Node const& value) {
    return value.is_text() ? yaml::Node(yaml::Node::List{value}, value.location()) : value;
}
constinit Type const progress_glob{
    .shape = Shape::either, .alternatives = progress_glob_alternatives, .normalise = pattern_as_list};

// Slurm's range without the negative values, which only operators may use.
constinit Type const nice = integer_between(0, 2'147'483'645);

/// True for an experiment ("7") or a trial ("7.3").
bool is_dependency(std::string_view text) {
    auto const is_number = [](std::string_view digits) {
        return !digits.empty() && digits.size() <= 9 &&
               digits.find_first_not_of("0123456789") == std::string_view::npos;
    };
    auto const dot = text.find('.');
    if (dot == std::string_view::npos) return is_number(text) && text.front() != '0';
    return is_number(text.substr(0, dot)) && text.front() != '0' && is_number(text.substr(dot + 1));
}

/// \return A number as the text that the user wrote. As a number, trial 7.20 would be 7.2.
yaml::Node number_as_written(yaml::Node const& value) {
    if (value.integer() != nullptr)
        return yaml::Node(yaml::Node::Scalar(std::to_string(*value.integer())), value.location());
    auto const& where = value.location();
    if (!value.is_number() || !where.is_written()) return value;
    auto const line = where.source->line(where.line);
    if (where.column == 0 || where.column > line.size()) return value;
    auto const written = line.substr(where.column - 1, where.width);
    return yaml::Node(yaml::Node::Scalar(std::string(written)), value.location());
}

void require_dependency(yaml::Node const& value, Path const& path, Checker& checker) {
    // The layers of a configuration are checked before their values are normalised.
    auto const written = number_as_written(value);
    if (written.text() != nullptr && is_dependency(*written.text())) return;
    checker.refuse_value(
        value, fmt::format("{} must be an experiment or a trial, found {}", path.text(), describe(value)),
        "for example 7, or '7.3' for its trial 3");
}

constexpr Type const* dependency_alternatives[] = {&number, &text};
constinit Type const dependency{.shape = Shape::either,
                                .expected = "an experiment or a trial",
                                .alternatives = dependency_alternatives,
                                .rule = require_dependency,
                                .normalise = number_as_written};
constinit Type const dependencies{.shape = Shape::list, .item = &dependency, .merge = Merge::as_set};

// The command runs before the code is unpacked, and without a shell.
void require_program(yaml::Node const& value, Path const& path, Checker& checker) {
    if (value.items().empty()) return checker.refuse_value(value, path.text() + " must not be empty");
    auto const& program = value.items().front();
    if (!program.is_text()) return;  // the wrong type is reported already
    bool const is_relative = program.text()->empty() || (!program.text()->starts_with('/') &&
                                                         program.text()->find('/') != std::string::npos);
    if (!is_relative) return;
    checker.refuse_value(value,
                         fmt::format("{} must begin with a program in PATH or an absolute path, found '{}'",
                                     path.text(), *program.text()),
                         "it runs on each node before the code is there, without a shell: for shell lines "
                         "write [bash, -c, '...']");
}
constinit Type const health_command{
    .shape = Shape::list, .item = &text, .merge = Merge::atomic, .rule = require_program};
constinit Type const health_timeout = integer_between(1, 3600);
constexpr Key health_check_keys[] = {
    required({"command", health_command, "",
              "a program and its arguments that also run on each node; a node on which it does not end with "
              "exit code 0 is left out: [dcgmi, diag, '-r', '1']",
              no_field, by_det_submit("a program that each node runs before a run starts")}),
    {"timeout", health_timeout, "",
     "seconds after which the command is ended, and its node is left out; default: 60", no_field,
     by_det_submit("the time that the command may take")},
};
constinit Type const health_check_object = object_of(health_check_keys);
constexpr Type const* health_check_alternatives[] = {&boolean, &health_check_object};
// A command of one layer and the timeout of another one would not belong together.
constinit Type const health_check{.shape = Shape::either,
                                  .expected = "true, false or a map",
                                  .alternatives = health_check_alternatives,
                                  .merge = Merge::atomic};

constinit Type const memory_interval = integer_between(1, 1'000'000'000);
constexpr Key memory_checkpoints_keys[] = {
    required({"every", memory_interval, "",
              "steps after which the ranks keep their state in the memory of their nodes again", no_field,
              by_det_submit("how often the state is kept in memory", if_script)}),
};
constinit Type const memory_checkpoints = object_of(memory_checkpoints_keys);

void require_staged_path(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& written = *value.text();
    bool const is_file =
        !written.empty() && !written.ends_with('/') && written.find('\n') == std::string::npos;
    if (is_file) return;
    checker.refuse_value(value,
                         fmt::format("{} must be the path of a file, found '{}'", path.text(), written),
                         "for example env.tar.zst, made by 'tar --zstd -cf env.tar.zst -C DIR .'");
}
constinit Type const staged_path{.shape = Shape::text, .rule = require_staged_path};
constinit Type const staged_paths{.shape = Shape::list, .item = &staged_path, .merge = Merge::as_set};

constinit Type const bad_node_memory = integer_between(0, 8760);
constinit Type const hang_timeout = integer_between(10, 31'536'000);
constinit Type const node_timeout = integer_between(4, 86'400);

/// Reports the items that parse_sbatch_args() refuses.
void check_sbatch_options(yaml::Node const& value, SbatchUse use, Path const& path, Checker& checker) {
    std::vector<std::string> items;
    for (auto const& item : value.items()) items.push_back(item.is_text() ? *item.text() : "");
    auto parsed = parse_sbatch_args(items, use);
    if (parsed.word) parsed.refused.push_back({*parsed.word, "this is no option", "options begin with '--'"});
    for (auto& refusal : parsed.refused) {
        auto const& item = value.items()[refusal.item];
        if (!item.is_text()) continue;  // the wrong type is reported already
        auto const where = path[refusal.item];
        checker.refuse_at(where, Error{codes::bad_value, where.text() + ": " + refusal.message,
                                       std::move(refusal.hint), item.location().span()});
    }
}

void require_users_options(yaml::Node const& value, Path const& path, Checker& checker) {
    check_sbatch_options(value, SbatchUse::entrypoint, path, checker);
}

void require_step_options(yaml::Node const& value, Path const& path, Checker& checker) {
    check_sbatch_options(value, SbatchUse::step, path, checker);
}

/// Writes each option of a step as one word, because items such as "--mem-bind local" have two.
yaml::Node options_in_one_word(yaml::Node const& value) {
    if (!value.is_list()) return value;
    std::vector<std::string> items;
    for (auto const& item : value.items()) items.push_back(item.is_text() ? *item.text() : "");
    yaml::Node::List words;
    for (auto const& option : parse_sbatch_args(items, SbatchUse::step).args)
        words.push_back(yaml::Node(yaml::Node::Scalar(option.text()), value.items()[option.item].location()));
    return yaml::Node(std::move(words), value.location());
}

void require_bind_policy(yaml::Node const& value, Path const& path, Checker& checker) {
    if (parse_bind_policy(*value.text())) return;
    checker.refuse_value(
        value,
        fmt::format("{} must be auto, none, cores, numa or a map, found '{}'", path.text(), *value.text()),
        "a map has the number of a share of the cores for each rank of a node, each from 0 on once: "
        "'6,7,2,3,0,1,4,5'");
}
constinit Type const bind_policy{.shape = Shape::text, .rule = require_bind_policy};

/// A batch script decides itself what det-submit decides for an entrypoint.
void require_options_of_jobs(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const* options = value.find("sbatch_args");
    auto const* script = value.find("batch_script");
    if (options == nullptr || !options->is_list()) return;
    auto const use = script != nullptr && script->is_text() ? SbatchUse::batch_script : SbatchUse::entrypoint;
    check_sbatch_options(*options, use, path / "sbatch_args", checker);
}

template <auto Field>
constexpr auto into_slurm = into_inherited<Slurm, Field>;

constexpr Key slurm_keys[] = {
    {"slots_per_node", positive_integer, "", "slots on each node; default: from the pool",
     into<&Slurm::slots_per_node>, by_det_submit("the number of nodes", if_batch_script)},
    {"gpu_type", text, "", "as in --gres=gpu:TYPE:N", into<&Slurm::gpu_type>,
     by_det_submit("the type in --gres", if_batch_script)},
    {"sbatch_args", text_list, "", "more options for sbatch: ['--time=1:00:00', '--account=mine']",
     into<&Slurm::sbatch_args>, by_det_submit("options of sbatch")},
    {"launch", launch, "",
     "node (default): the entrypoint runs once per node and starts the ranks; rank: srun starts it once per "
     "slot; script: it runs once, on the first node, as a batch script does, and starts its own steps",
     into_slurm<&Slurm::launch>, by_det_submit("one task per node, per slot or none")},
    {"batch_script", text, "",
     "the batch script of `experiment create job.sbatch`, which sets it; its header is in sbatch_args",
     into<&Slurm::batch_script>, by_det_submit("the script that runs in place of an entrypoint")},
    {"mpi", mpi, "",
     "srun --mpi: none, or a name that 'srun --mpi=list' shows, for example pmix or cray_shasta; default: as "
     "slurm.conf says (MpiDefault); absent: none",
     into_slurm<&Slurm::mpi>, by_det_submit("srun's --mpi", if_script)},
    {"srun_args", srun_args, "",
     "more options for the srun that starts the tasks of a run: ['--network=single_node_vni']",
     into_slurm<&Slurm::srun_args>, by_det_submit("options of srun", if_script)},
    {"bind", bind_policy, "",
     "the CPUs of a rank: auto (beside its GPU), none, cores (an equal share), numa (a NUMA node), or a map "
     "of the shares in the order of the ranks; default: cores for ranks that srun starts, else none",
     into_slurm<&Slurm::bind>, by_det_submit("the CPUs to which ranks are bound", if_script)},
    {"trials_per_node", positive_integer, "",
     "number of small trials that share a node; default: as many as fit; 1: trials do not share",
     into<&Slurm::trials_per_node>, by_det_submit("the number of trials in a job", if_single_or_script)},
    {"exclusive", boolean, "",
     "true: whole nodes; false: only the slots of the trial, on nodes shared with other jobs; default: from "
     "the pool",
     into<&Slurm::exclusive>, by_det_submit("whole nodes, or the slots of the trial only", if_batch_script)},
    {"spare_nodes", non_negative_integer, "", "extra nodes that replace failed ones; default: none",
     into<&Slurm::spare_nodes>, by_det_submit("the number of nodes of a job", if_script_uses_all_nodes)},
    {"min_time", time_limit, "",
     "sbatch --time-min: Slurm may start a job earlier with a shorter time limit, which is at least this "
     "one: "
     "'4:00:00'; the trial continues in a further job; default: none",
     into<&Slurm::min_time>, by_det_submit("sbatch --time-min", if_batch_script)},
    {"grow", grow, "",
     "when an elastic run saves and asks for more nodes, because enough are idle: {after: 30m}; default: "
     "never",
     no_field, by_det_submit("a requeue for more nodes", if_not_elastic)},
    {"container", container_use, "",
     "required: no run without the container of environment.image; optional (default): without it where the "
     "pool runs no containers",
     into<&Slurm::container>,
     by_det_submit("an image that can't be used is an error", if_script_without_container)},
    {"forward_signals", signal_names, "",
     "signals by which the program gets a notice, ['TERM'] or ['USR1']; default: none, it calls "
     "should_preempt",
     into_slurm<&Slurm::forward_signals>, by_det_submit("the signals that the wrapper sends to the program")},
    {"setup", text_list, "",
     "shell lines that run once per node before the entrypoint: ['module load cuda', 'source "
     "venv/bin/activate']",
     into_slurm<&Slurm::setup>, by_det_submit("lines that run before the entrypoint")},
    {"working_directory", working_directory, "",
     "node-local (default): each run works in a copy of the code on its nodes; shared: all runs of a trial "
     "work in one "
     "directory on the shared storage",
     into_slurm<&Slurm::working_directory>,
     by_det_submit("where the code is unpacked", if_script_runs_in_place)},
    {"persist", directories_inside, "",
     "directories that survive the runs of a trial, while the rest of the working directory is node-local: "
     "['checkpoints/']",
     into<&Slurm::persist>, by_det_submit("directories that survive the runs", if_all_files_are_kept)},
    {"preempted_exit_codes", exit_codes, "",
     "exit codes of the program that ask for another place in the queue: [85]; default: none",
     into_slurm<&Slurm::preempted_exit_codes>, by_det_submit("what follows the end of a run")},
    {"progress_glob", progress_glob, "",
     "files whose newest change shows that a run made progress: 'checkpoints/*.pt'; default: checkpoints of "
     "the "
     "Core API",
     into_slurm<&Slurm::progress_globs>, by_det_submit("which runs have made progress")},
    {"hang_timeout", hang_timeout, "",
     "seconds without a reported step or collective operation after which a run is ended as hung, with the "
     "stacks of its ranks in the log; default: off",
     into_slurm<&Slurm::hang_timeout_s>, by_det_submit("when a run is ended as hung")},
    {"idle_timeout", idle_timeout, "",
     "how long the GPUs of a run, or its CPUs if the trial has no GPUs, may be used less than 5 %: 30m; a "
     "map: "
     "{after: 30m, action: end} also ends the run; default: off",
     no_field, by_det_submit("when a run is idle, and what follows")},
    {"node_timeout", node_timeout, "",
     "seconds of silence on the network after which a node that others do not reach either, or that Slurm "
     "has lost, ends the run; default: 10",
     no_field, by_det_submit("when a run is ended because a node is lost")},
    {"tensorboard", boolean, "",
     "true: metrics are also written as files that TensorBoard reads; default: false",
     into_slurm<&Slurm::tensorboard>, by_det_submit("event files of the metrics")},
    {"log_wandb", boolean, "",
     "true: what a script logs by wandb becomes the trial's metrics; default: false", no_field,
     by_det_submit("PYTHONPATH: a module wandb that reports metrics")},
    {"log_mlflow", boolean, "",
     "true: what a script logs by MLflow becomes the trial's metrics; default: false", no_field,
     by_det_submit("MLFLOW_TRACKING_URI: a store that reports metrics")},
    {"checkpoint_format", checkpoint_format, "",
     "state (default): a PyTorchTrial trains on while it saves; torch: it waits for torch.save", no_field,
     by_det_submit("the files in checkpoints of a PyTorchTrial")},
    {"memory_checkpoints", memory_checkpoints, "",
     "the newest two states of each rank are also kept in /dev/shm of its node, and a run that follows in "
     "the "
     "same job continues from there: {every: 10}; default: none",
     no_field, by_det_submit("snapshots in the memory of the nodes", if_script)},
    {"stage", staged_paths, "",
     "files that are brought to the disk of each node before the program starts, and stay there for later "
     "runs; "
     "archives are unpacked; $DET_STAGE has them: [env.tar.zst, image.sqsh]; default: none",
     no_field, by_det_submit("files on the disks of the nodes")},
    {"stage_limit", memory_size, "",
     "how much such files may take on a node's disk: 200G; default: half of the disk", no_field,
     by_det_submit("which files of slurm.stage go, the least recently used first", if_nothing_is_staged)},
    {"warm_start", boolean, "",
     "true: interpreters that have imported torch wait on the nodes, so that a run that follows in the same "
     "job starts sooner; default: false",
     no_field, by_det_submit("interpreters that wait on the nodes", if_script)},
    {"compile_cache", boolean, "",
     "false: no cache of compiled kernels on the nodes; default: true, one for each experiment", no_field,
     by_det_submit("TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR", if_script_keeps_variables)},
    {"after", dependencies, "",
     "experiments and trials that must have ended well before this one starts: [7, 9.2]", into<&Slurm::after>,
     by_det_submit("sbatch --dependency, and a check at the start of each job")},
    {"after_any", dependencies, "", "experiments and trials that must have ended before this one starts",
     into<&Slurm::after_any>, by_det_submit("sbatch --dependency, and a check at the start of each job")},
    {"bad_node_memory", bad_node_memory, "",
     "hours during which experiments leave out nodes on which runs of yours failed; 0: none; default: 24",
     into<&Slurm::bad_node_memory_hours>, by_det_submit("sbatch --exclude")},
    {"event_hook", text, "",
     "a shell command that runs when jobs are submitted and when a run starts, is preempted, fails or "
     "completes, with the event as JSON on its standard input",
     no_field, by_det_submit("a command for each event of a run, and for submissions and waiting trials")},
    {"health_check", health_check, "",
     "true: before each run its nodes check their GPUs, network and disks, and a node that fails is left "
     "out; a map: they also run a command; default: false",
     no_field, by_det_submit("the check of a run's nodes before it starts")},
    {"nice", nice, "",
     "sbatch --nice: Slurm subtracts it from the priority; default: that of resources.priority, else 0",
     into<&Slurm::nice>, by_det_submit("sbatch --nice")},
};
constexpr Key pbs_keys[] = {
    {"slots_per_node", positive_integer, "", "slots on each node"},
    {"pbsbatch_args", text_list, "", "more options for PBS"},
};

}  // namespace

constinit Type const sbatch_args{.shape = Shape::list, .item = &text, .rule = require_users_options};
constinit Type const srun_args{
    .shape = Shape::list, .item = &text, .rule = require_step_options, .normalise = options_in_one_word};
constinit Type const resources = object_of(resources_keys);
constinit Type const bind_mounts{
    .shape = Shape::list, .item = &bind_mount, .merge = Merge::by_item_key, .item_key = "container_path"};
constinit Type const slurm{.shape = Shape::object, .keys = slurm_keys, .rule = require_options_of_jobs};
constinit Type const pbs = object_of(pbs_keys);

}  // namespace det::config::schema
