#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/priority_levels.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr char pool_path[] = "resources.resource_pool";
constexpr std::int64_t lanes_limit = 256;  // job steps of one supervisor

bool lies_below(std::string const& path, std::string const& directory) {
    return (path + "/").starts_with(directory.ends_with('/') ? directory : directory + "/");
}

/// A directory must have the same path inside and outside of a container, because det-submit reads
/// checkpoints from outside.
Status check_directory(ExperimentConfig const& config, config::DirectoryStorage const& directory) {
    for (auto const& mount : config.bind_mounts) {
        bool const is_elsewhere = lies_below(directory.container_path, mount.container_path) &&
                                  mount.host_path != mount.container_path;
        if (!is_elsewhere) continue;
        return with_location(
            config, "checkpoint_storage.container_path",
            Error{codes::not_supported,
                  fmt::format(
                      "'{}' is '{}' outside of the container: checkpoints are looked for under one name",
                      mount.container_path, mount.host_path),
                  fmt::format("use 'type: shared_fs' with 'host_path: {}'", mount.host_path)});
    }
    return Ok{};
}

/// botocore needs both keys or none. The error has no location, because the line may contain a secret.
Status check_s3(config::S3Storage const& s3) {
    if (s3.access_key.has_value() == s3.secret_key.has_value()) return Ok{};
    return Error{codes::bad_value,
                 "checkpoint_storage: access_key and secret_key belong together: only one is set",
                 "set both, or none: then it is as the AWS tools find it"};
}

Status check_storage(ExperimentConfig const& config) {
    auto const& storage = config.checkpoint_storage;
    if (storage.type == "shared_fs") return Ok{};
    if (auto const* directory = std::get_if<config::DirectoryStorage>(&storage.location))
        return check_directory(config, *directory);
    if (auto const* s3 = std::get_if<config::S3Storage>(&storage.location)) return check_s3(*s3);
    return with_location(
        config, "checkpoint_storage.type",
        Error{codes::not_supported,
              fmt::format("checkpoint storage '{}' is not built into this det-submit", storage.type),
              "use 'type: s3', or 'type: shared_fs' with a directory that all nodes see as 'host_path'; "
              "'det-submit checkpoint download' copies what is to be kept elsewhere"});
}

/// Warns of log policies that can't match: those without a pattern that switch off no default policy.
void warn_of_log_policies(ExperimentConfig const& config, Diagnostics& found) {
    for (auto const& policy : config.log_policies) {
        if (config::pattern_of(policy) || (policy.name && config::is_default_log_policy(*policy.name)))
            continue;
        found.warn(with_location(config, "log_policies",
                                 Error{codes::not_supported,
                                       fmt::format("the log policy '{}' has no effect: it has no pattern",
                                                   policy.name.value_or("")),
                                       "add 'pattern: ...'"}));
    }
}

/// Warns of a node-local directory of a script whose steps run on several nodes: they begin in its directory.
void warn_of_directory(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    constexpr char path[] = "slurm.working_directory";
    bool const is_local =
        config.slurm.working_directory == WorkingDirectory::node_local && config.where(path);
    if (plan.launch != Launch::script || plan.shape.nodes < 2 || !is_local) return;
    found.warn(with_location(
        config, path,
        Error{codes::not_supported,
              "slurm.working_directory is shared: a script starts steps on several nodes", "remove it"}));
}

/// Warns of an idle timeout of a script whose steps run on several nodes: only the first node is measured.
void warn_of_idle_timeout(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    constexpr char path[] = "slurm.idle_timeout";
    if (plan.launch != Launch::script || plan.shape.nodes < 2 || !config.where(path)) return;
    found.warn(
        with_location(config, path,
                      Error{codes::not_supported,
                            "slurm.idle_timeout has no effect: a script starts steps on several nodes, "
                            "whose use is not measured",
                            "remove it"}));
}

/// Warns of interpreters that would not be used.
void warn_of_warm_start(ExperimentConfig const& config, SubmissionPlan const& plan, Diagnostics& found) {
    constexpr char path[] = "slurm.warm_start";
    auto const* slurm = config.effective.find("slurm");
    auto const* value = slurm != nullptr ? slurm->find("warm_start") : nullptr;
    bool const is_wanted = value != nullptr && value->boolean() != nullptr && *value->boolean();
    if (!is_wanted || plan.launch == Launch::script) return;
    std::string_view const why = plan.container   ? "containers have interpreters of their own"
                                 : plan.lanes > 1 ? "several trials share each node"
                                 : config.where("slurm.forward_signals") ? "slurm.forward_signals is set"
                                                                         : "";
    if (why.empty()) return;
    found.warn(with_location(
        config, path,
        Error{codes::not_supported, fmt::format("slurm.warm_start has no effect: {}", why), "remove it"}));
}

/// Warns of ports that a user's program can't listen on.
void warn_of_ports(ExperimentConfig const& config, Diagnostics& found) {
    for (auto const& [name, port] : config.environment.ports) {
        if (port >= 1024 && port <= 65535) continue;
        found.warn(with_location(config, "environment.ports." + name,
                                 Error{codes::bad_value,
                                       fmt::format("environment.ports.{} has no effect: a program of a user "
                                                   "can't listen on port {}",
                                                   name, port),
                                       "use a port from 1024 to 65535"}));
    }
}

constexpr std::string_view label_source = "label";

std::string labels_with(std::string_view prefix, std::vector<std::string> const& labels) {
    std::vector<std::string> names;
    for (auto const& label : labels) {
        if (label.starts_with(prefix) && label.size() > prefix.size())
            names.push_back(label.substr(prefix.size()));
    }
    std::sort(names.begin(), names.end());
    return join(names, ",");
}

/// Removes double quotes and control characters, which Slurm would store in its accounting.
std::string as_wckey(std::string text) {
    std::erase_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"'; });
    return text;
}

/// Returns the experiment's --wckey as the site's job_project_source selects it; empty: no wckey.
std::string wckey_of(std::string_view source, config::ExperimentConfig const& config) {
    if (source == "project") return as_wckey(config.project);
    if (source == "workspace") return as_wckey(config.workspace);
    if (!source.starts_with(label_source)) return "";
    source.remove_prefix(label_source.size());
    if (source.starts_with(':')) source.remove_prefix(1);
    return as_wckey(labels_with(source, config.labels));
}

/// The pattern of the site with the experiment's name, of which all bytes that are not usual in names of jobs
/// become '_'. Empty for the pattern that the script has.
std::string job_name_of(std::string const& pattern, std::string name) {
    if (pattern == config::SiteFile().job_name) return "";
    constexpr std::size_t name_size_max = 64;
    constexpr std::string_view plain_bytes =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    name.resize(std::min(name.size(), name_size_max));
    for (auto& byte : name) {
        if (plain_bytes.find(byte) == std::string_view::npos) byte = '_';
    }
    auto text = pattern;
    for (auto at = text.find("%n"); at != std::string::npos; at = text.find("%n", at + name.size()))
        text.replace(at, 2, name);
    return text;
}

/// slurm.nice, or the nice of resources.priority.
std::int64_t nice_of(ExperimentConfig const& config) {
    if (config.slurm.nice) return *config.slurm.nice;
    auto const& level = config.resources.priority;
    return level ? queue::nice_of_level(static_cast<int>(*level)) : 0;
}

/// The time limit of jobs whose configuration sets none: the pool's, or that of the QOS if it is shorter;
/// empty: Slurm's default.
std::string default_time_limit(site::Pool const& pool) {
    auto const of_pool = pool.limits.time_max.value_or("");
    auto const pool_s = config::parse_time_limit_s(of_pool);
    auto const qos_s = config::parse_time_limit_s(pool.rules.time_max);
    return pool_s && qos_s && *qos_s < *pool_s ? pool.rules.time_max : of_pool;
}

void set_nodes(SubmissionPlan& plan, NodeSelection const& selection, ExperimentConfig const& config) {
    plan.shape = selection.shape;
    bool const is_range = config.resources.slots_per_trial_min && selection.nodes_min < selection.shape.nodes;
    plan.nodes_min = is_range ? selection.nodes_min : 0;
    plan.node.is_exclusive = is_exclusive(config, plan.pool, selection);
    plan.pool.slots_per_node = selection.node_slots;
    plan.gpu_type = selection.gpu_type;
    plan.exclude = selection.exclude;
    plan.nodes_up = selection.nodes_up;
    plan.nodes_max = selection.nodes_max;
    if (!plan.sbatch_args.find("time")) plan.time_limit = default_time_limit(plan.pool);
}

/// Returns the maximum number of trials that run at the same time: the searcher's limit, lowered by
/// max_slots; at least one.
std::uint32_t concurrent_trials_max(search::Search const& search, ExperimentConfig const& config,
                                    TrialShape const& shape) {
    auto const searched = search.concurrent_trials_max();
    if (!config.resources.max_slots) return searched;
    auto const trials = std::max<std::int64_t>(1, *config.resources.max_slots / shape.ranks());
    return static_cast<std::uint32_t>(std::min<std::int64_t>(searched, trials));
}

/// The maximum number of trials in a job: slurm.trials_per_node, else as many as fit on a whole node, or one
/// on a shared node. Trials without slots share a node only if the user requests it.
Result<std::uint32_t> lanes_max(ExperimentConfig const& config, SubmissionPlan const& plan) {
    if (plan.launch == Launch::script) return 1;  // a script has its job to itself
    auto const& wanted = config.slurm.trials_per_node;
    auto const& shape = plan.shape;
    bool const is_small = shape.nodes == 1 && shape.slots_per_node > 0;
    auto const fitting = is_small ? std::max(1, plan.pool.slots_per_node / shape.slots_per_node) : 1;
    // Trials on shared nodes are jobs of their own, which Slurm places on any nodes with free slots.
    if (!wanted) return static_cast<std::uint32_t>(plan.node.is_exclusive ? fitting : 1);
    bool const fits = *wanted <= fitting || (shape.slots_per_node == 0 && *wanted <= lanes_limit);
    if (fits) return static_cast<std::uint32_t>(*wanted);
    return with_location(
        config, "slurm.trials_per_node",
        Error{codes::slots_do_not_fit,
              fmt::format("{} of {} don't fit on a node: {}", count_text(*wanted, "trial"),
                          count_text(config.resources.slots_per_trial, "slot"), describe(plan.pool)),
              fmt::format("use at most {}", shape.slots_per_node == 0 ? lanes_limit : fitting)});
}

Status set_lanes(SubmissionPlan& plan, ExperimentConfig const& config) {
    DET_TRY_ASSIGN(auto const most, lanes_max(config, plan));
    plan.lanes = balance_lanes(most, plan.concurrent_trials_max);
    return Ok{};
}

Json section(config::ExperimentConfig const& config, std::string_view key) {
    auto const* found = config.effective.find(key);
    return found != nullptr ? yaml::to_json(*found) : Json::object();
}

/// The command of a health check, before a trial starts on a shared node, keeps the job from noticing what
/// the other trials of the node do.
Status check_health_timeout(SubmissionPlan const& plan, ExperimentConfig const& config) {
    constexpr std::int64_t most_s = 60;
    auto const check = section(config, "slurm").value("health_check", Json());
    bool const is_short = !check.is_object() || check.value("timeout", most_s) <= most_s;
    if (plan.lanes == 1 || is_short) return Ok{};
    return with_location(config, "slurm.health_check.timeout",
                         Error{codes::bad_value,
                               fmt::format("{} share a job, and wait while the health check of one runs",
                                           count_text(static_cast<int>(plan.lanes), "trial")),
                               fmt::format("use at most {} s, or 'slurm.trials_per_node: 1'", most_s)});
}

/// Refuses more nodes than a job can ever get.
Status set_spare_nodes(SubmissionPlan& plan, ExperimentConfig const& config) {
    if (plan.launch == Launch::script) return Ok{};  // it would use them
    plan.spare_nodes = static_cast<std::uint32_t>(config.slurm.spare_nodes);
    if (plan.spare_nodes == 0 || plan.nodes() <= plan.nodes_max) return Ok{};
    return with_location(
        config, "slurm.spare_nodes",
        Error{codes::slots_do_not_fit,
              fmt::format("{} and {} to spare are more than a job may have: {}",
                          count_text(plan.shape.nodes, "node"), plan.spare_nodes, describe(plan.pool)),
              fmt::format("use at most {}", std::max(0, plan.nodes_max - plan.shape.nodes))});
}

Error no_trials() {
    return {codes::bad_value, "a grid search without hyperparameters has no trials",
            "add hyperparameters, or use the searcher 'single'"};
}

}  // namespace

SearchInput search_input(config::ExperimentConfig const& config) {
    auto const& searcher = config.searcher;
    return {
        {searcher.name, searcher.metric, searcher.smaller_is_better, section(config, "searcher")},
        section(config, "hyperparameters"),
        static_cast<std::uint32_t>(config.reproducibility.experiment_seed.value_or(0)),
    };
}

Result<search::Search, Diagnostics> plan_search(config::ExperimentConfig const& config) {
    auto const input = search_input(config);
    auto search = search::Search::parse(input.searcher, input.hyperparameters, input.experiment_seed);
    Diagnostics found;
    auto const refuse = [&](std::string_view path, Error error) {
        error.where = config.where(path);
        found.report(std::move(error));
    };
    if (!search) {
        for (auto const& refusal : search.error()) refuse(refusal.path, refusal.error);
        return found;
    }
    if (search->trial_count() > 0) return *std::move(search);
    refuse("searcher.name", no_trials());
    return found;
}

std::string SubmissionPlan::excluded_nodes() const {
    auto const users = sbatch_args.find("exclude").value_or("");
    return exclude.empty() || users.empty() ? exclude + users : exclude + "," + users;
}

Diagnostics check_supported(ExperimentConfig const& config) {
    Diagnostics found;
    auto const search = plan_search(config);
    if (!search) found.append(search.error());
    if (search) warn_of_length(config, *search, found);
    warn_of_log_policies(config, found);
    warn_of_ports(config, found);
    if (auto stored = check_storage(config); !stored) found.report(std::move(stored).error());
    return found;
}

Result<SubmissionPlan, Diagnostics> plan_submission(ExperimentConfig const& config, site::Site const& site) {
    auto found = check_supported(config);
    auto wckey = wckey_of(site.job_project_source.value_or(""), config);
    if (!config.slurm.batch_script.empty()) {
        if (found.has_errors()) return found;
        DET_TRY_ASSIGN(auto of_script, plan_batch_script(config, site, std::move(wckey)));
        of_script.nice = nice_of(config);
        warn_of_idle_timeout(config, of_script, found);
        of_script.warnings = std::move(found);
        return of_script;
    }
    SubmissionPlan plan;
    auto pool = require_pool_of(config, site);
    if (!pool) {
        found.report(with_location(config, pool_path, std::move(pool).error()));
        return found;
    }
    plan.pool = *std::move(pool);
    found.append(replace_pool_options(plan.pool, config, site));
    plan.expedites_requeue = site.expedites_requeue;
    plan.launch = config.slurm.launch;
    plan.sbatch_args = config.slurm.sbatch_args;
    plan.min_time = config.slurm.min_time;
    plan.nice = nice_of(config);
    plan.wckey = std::move(wckey);
    plan.job_name = job_name_of(site.job_name, config.name);
    auto const selection = select_nodes(config, plan.pool);
    if (selection) {
        set_nodes(plan, *selection, config);
        if (auto const taken = set_spare_nodes(plan, config); !taken) found.report(taken.error());
    } else {
        found.report(selection.error());
    }
    if (plan.is_elastic() && plan.launch == Launch::script) {
        found.report(with_location(
            config, slots_path,
            Error{
                codes::not_supported,
                "a script with 'launch: script' starts its own steps: det-submit does not know whether they "
                "suit another number of nodes",
                "use one number, or 'launch: node' or 'launch: rank'"}));
    }
    found.append(check_limits(config, plan));
    Diagnostics of_container;
    bool const is_script = plan.launch == Launch::script;  // it starts containers itself
    if (!is_script) plan.container = plan_container(config, site, plan, of_container);
    if (of_container.has_errors()) found.append(of_container);
    if (found.has_errors()) return found;
    DET_TRY_ASSIGN(auto const search, plan_search(config));
    plan.trial_count = search.trial_count();
    plan.concurrent_trials_max = concurrent_trials_max(search, config, plan.shape);
    plan.sampler_sets_lengths = search::sampler_sets_lengths(search_input(config).searcher);
    DET_TRY(set_lanes(plan, config));
    DET_TRY(check_health_timeout(plan, config));
    plan.node = request_node(plan, *selection);
    plan.warnings = check_availability(config, plan);
    warn_of_node_use(config, plan, plan.warnings);
    warn_of_directory(config, plan, plan.warnings);
    warn_of_idle_timeout(config, plan, plan.warnings);
    warn_of_warm_start(config, plan, plan.warnings);
    plan.warnings.append(of_container);
    warn_of_length(config, search, plan.warnings);
    warn_of_log_policies(config, plan.warnings);
    warn_of_ports(config, plan.warnings);
    return plan;
}

}  // namespace det::plan
