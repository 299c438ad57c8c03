#include <det/config/site_file.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "../check.hpp"
#include "assign.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

// The site file. Values that become arguments of sbatch or parts of scripts must be single words.
namespace det::config::schema {
namespace {

constexpr std::string_view name_bytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

void require_name(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& name = *value.text();
    bool const is_name = !name.empty() && name.size() <= 64 && name.front() != '-' && name.front() != '.' &&
                         name.find_first_not_of(name_bytes) == std::string::npos;
    if (is_name) return;
    checker.refuse_value(value, fmt::format("{} must be a name, found '{}'", path.text(), name),
                         "use letters, digits, '.', '_' and '-', a letter or digit first");
}

void require_word(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& word = *value.text();
    bool const is_word = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return c > ' ' && c < 0x7f && c != '\'' && c != '"';
    });
    if (is_word) return;
    checker.refuse_value(value,
                         fmt::format("{} must be one word without quotes, found '{}'", path.text(), word));
}

void require_host_suffix(yaml::Node const& value, Path const& path, Checker& checker) {
    constexpr std::string_view suffix_bytes =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    auto const& suffix = *value.text();
    bool const is_suffix =
        !suffix.empty() && suffix.size() <= 32 && suffix.find_first_not_of(suffix_bytes) == std::string::npos;
    if (is_suffix) return;
    checker.refuse_value(
        value, fmt::format("{} must be the end of a host name, found '{}'", path.text(), suffix),
        "letters, digits and '-': with i, ranks on node1.cluster are reached at node1i.cluster");
}

void require_job_name(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& written = *value.text();
    constexpr std::string_view plain_bytes =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool has_place = false, is_pattern = written.size() <= 64 && !written.starts_with('-');
    for (std::size_t at = 0; at < written.size(); ++at) {
        if (written[at] != '%') {
            is_pattern = is_pattern && plain_bytes.find(written[at]) != std::string_view::npos;
            continue;
        }
        char const letter = at + 1 < written.size() ? written[++at] : ' ';
        is_pattern = is_pattern && (letter == 'n' || letter == 'i');
        has_place = true;
    }
    if (is_pattern && has_place) return;
    checker.refuse_value(
        value, fmt::format("{} must be a name with %n or %i, found '{}'", path.text(), written),
        "%n is the experiment's name, %i its number; letters, digits, '.', '_' and '-': for example %n-%i");
}

/// Refuses a path that is not absolute, or that has another pattern than %u.
bool require_path_of_user(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& text = *value.text();
    if (!text.starts_with('/')) {
        require_absolute_path(value, path, checker);
        return false;
    }
    for (auto at = text.find('%'); at != std::string::npos; at = text.find('%', at + 2)) {
        auto const letter = at + 1 < text.size() ? text[at + 1] : ' ';
        if (letter == 'u' || letter == '%') continue;
        checker.refuse_value(value, fmt::format("{}: only %u is known, the user's name", path.text()),
                             "write %% for a percent sign");
        return false;
    }
    return true;
}

void require_image_directory(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& text = *value.text();
    if (!require_path_of_user(value, path, checker) || text.find("%u") != std::string::npos) return;
    checker.refuse_value(
        value, fmt::format("{} must hold %u: a user runs only images that others can't write", path.text()),
        fmt::format("for example {}/%u", clean_path(text)));
}

void require_storage_root(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& text = *value.text();
    if (!require_path_of_user(value, path, checker) || text.find("%u") != std::string::npos) return;
    checker.refuse_value(value, fmt::format("{} must hold %u: a root belongs to one user", path.text()),
                         fmt::format("for example {}/%u", clean_path(text)));
}

/// The list reaches jobs with colons between the paths.
void require_trusted_ancestor(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& text = *value.text();
    if (!text.starts_with('/')) return require_absolute_path(value, path, checker);
    if (text.find(':') == std::string::npos) return;
    checker.refuse_value(value,
                         fmt::format("{}: a path can't contain a colon, found '{}'", path.text(), text));
}

void require_trusted_owner(yaml::Node const& value, Path const& path, Checker& checker) {
    std::string_view name = *value.text();
    constexpr std::string_view of_group = "group:";
    if (name.starts_with(of_group)) name.remove_prefix(of_group.size());
    bool const is_name =
        !name.empty() && name.front() != '-' && name.find(':') == name.npos &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
    if (is_name) return;
    checker.refuse_value(
        value, fmt::format("{} must be a user, or group:NAME, found '{}'", path.text(), *value.text()),
        "for example swadm, or group:hpcadmin");
}

constexpr std::string_view template_places[] = {"{image}", "{source}", "{target}",   "{mode}",
                                                "{gpu}",   "{mounts}", "{variable}", "{file}"};

void require_places(yaml::Node const& value, Path const& path, Checker& checker) {
    std::string_view const item = *value.text();
    for (auto at = item.find('{'); at != std::string_view::npos; at = item.find('{', at + 1)) {
        auto const place = item.substr(at, item.find('}', at) - at + 1);
        if (std::ranges::find(template_places, place) != std::end(template_places)) continue;
        return checker.refuse_value(
            value, fmt::format("{}: '{}' stands for nothing", path.text(), place),
            "use {image}, {source}, {target}, {mode}, {mounts}, {variable}, {gpu} or {file}");
    }
}

bool has_place(yaml::Node const& list, std::string_view place) {
    return std::ranges::any_of(list.items(), [&](auto const& item) {
        return item.is_text() && item.text()->find(place) != std::string::npos;
    });
}

/// Refuses a template without the image, and a command without mounts: det-submit's programs and the run's
/// directory are mounted too.
void require_usable_template(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const* command = value.find("command");
    auto const* srun_args = value.find("srun_args");
    auto const has = [](yaml::Node const* list, std::string_view place) {
        return list != nullptr && list->is_list() && has_place(*list, place);
    };
    if (!has(command, "{image}") && !has(srun_args, "{image}"))
        checker.refuse_value(value, fmt::format("{} does not name the image", path.text()),
                             "write {image} in an item of command or srun_args");
    bool const has_mounts = has(command, "{source}") && has(command, "{target}");
    if (command != nullptr && command->is_list() && !has_mounts)
        checker.refuse_value(*command, fmt::format("{}.command does not mount anything", path.text()),
                             "write an item such as '--volume={source}:{target}:{mode}'");
    if (auto const* import = value.find("import"); import != nullptr && !has(import, "{file}"))
        checker.refuse_value(*import, fmt::format("{}.import does not name the file", path.text()),
                             "write {file}, as a word of its own");
}

void require_project_source(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& text = *value.text();
    if (text == "project" || text == "workspace" || text == "label" || text.starts_with("label:")) return;
    checker.refuse_value(
        value,
        fmt::format("{} must be project, workspace, label or label:PREFIX, found '{}'", path.text(), text));
}

void require_time(yaml::Node const& value, Path const& path, Checker& checker) {
    if (value.is_text() && !parse_time_limit_s(*value.text())) {
        checker.refuse_value(
            value,
            fmt::format("{} must be a time as Slurm writes it, found '{}'", path.text(), *value.text()),
            "for example '2-00:00:00', two days, or '90', minutes");
    }
}
yaml::Node minutes_as_text(yaml::Node const& value) {
    if (value.integer() == nullptr) return value;
    return yaml::Node(yaml::Node::Scalar(std::to_string(*value.integer())), value.location());
}

/// Refuses a resource_pool in the defaults of a pool: the pool is chosen before its defaults are read.
void refuse_pool_of_pool(yaml::Node const& pool, Path const& path, Checker& checker) {
    for (std::string_view const section : {"task_defaults", "invariants"}) {
        auto const* defaults = pool.find(section);
        auto const* resources = defaults != nullptr ? defaults->find("resources") : nullptr;
        auto const* name = resources != nullptr ? resources->find("resource_pool") : nullptr;
        if (name == nullptr || name->is_null()) continue;
        checker.refuse_value(
            *name, fmt::format("{}.{}: a pool can't send its trials to a pool", path.text(), section),
            "remove it; default_compute_pool is where trials go that name no pool");
    }
}

void require_pools_of_different_names(yaml::Node const& pools, Path const& path, Checker& checker) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < pools.items().size(); ++i) {
        auto const* name = pools.items()[i].find("name");
        if (name == nullptr || !name->is_text() || names.insert(*name->text()).second) continue;
        auto const where = path[i];
        checker.refuse_at(where,
                          Error{codes::bad_value, fmt::format("there are two pools '{}'", *name->text()),
                                "give one another name", name->location().span()});
    }
}

constexpr std::string_view slot_choices[] = {"cpu", "cuda", "rocm", "xpu"};
constexpr std::string_view scheduler_choices[] = {"priority", "fair_share"};
constexpr std::string_view runtime_choices[] = {"none",   "apptainer", "singularity",
                                                "podman", "enroot",    "pyxis"};
constexpr std::string_view user_option_choices[] = {"partition", "qos", "constraint", "reservation"};
constinit Type const slot_type = choice_of(slot_choices);
constinit Type const user_option = choice_of(user_option_choices);
constinit Type const user_options = list_of(user_option);
constinit Type const scheduler = choice_of(scheduler_choices);
constinit Type const container_runtime = choice_of(runtime_choices);
constinit Type const pool_name{.shape = Shape::text, .rule = require_name};
constinit Type const word{.shape = Shape::text, .rule = require_word};
constinit Type const job_name{.shape = Shape::text, .rule = require_job_name};
constinit Type const host_suffix{.shape = Shape::text, .rule = require_host_suffix};
constinit Type const storage_root{.shape = Shape::text, .rule = require_storage_root};
constinit Type const project_source{.shape = Shape::text, .rule = require_project_source};
constexpr std::string_view sharing_choices[] = {"private", "group"};
constinit Type const sharing = choice_of(sharing_choices);
constinit Type const trusted_owner{.shape = Shape::text, .rule = require_trusted_owner};
constinit Type const trusted_owners = list_of(trusted_owner);
constinit Type const trusted_ancestor{.shape = Shape::text, .rule = require_trusted_ancestor};
constinit Type const trusted_ancestors = list_of(trusted_ancestor);
constexpr Type const* time_alternatives[] = {&positive_integer, &text};
constinit Type const time_limit{.shape = Shape::either,
                                .expected = "a time",
                                .alternatives = time_alternatives,
                                .rule = require_time,
                                .normalise = minutes_as_text};

constexpr Key limit_keys[] = {
    {"slots_per_trial", positive_integer, "", "maximum number of slots",
     into<&PoolLimits::slots_per_trial_max>},
    {"nodes_per_trial", positive_integer, "", "maximum number of nodes",
     into<&PoolLimits::nodes_per_trial_max>},
    {"time", time_limit, "", "maximum run time; also the default for --time", into<&PoolLimits::time_max>},
};
constinit Type const limits = object_of(limit_keys);

constinit Type const template_item{.shape = Shape::text, .rule = require_places};
constinit Type const template_items = list_of(template_item);
constexpr Key template_keys[] = {
    required({"name", pool_name, "", "the name of the runtime", into<&ContainerTemplateEntry::name>}),
    {"command", template_items, "", "the runtime and its options, in front of the program",
     into<&ContainerTemplateEntry::command>},
    {"srun_args", template_items, "", "options of srun; without a command srun starts the container",
     into<&ContainerTemplateEntry::srun_args>},
    {"cuda", template_items, "", "options in place of {gpu} for NVIDIA GPUs",
     into<&ContainerTemplateEntry::cuda>},
    {"rocm", template_items, "", "options in place of {gpu} for AMD GPUs",
     into<&ContainerTemplateEntry::rocm>},
    {"xpu", template_items, "", "options in place of {gpu} for Intel GPUs",
     into<&ContainerTemplateEntry::xpu>},
    {"import", template_items, "", "makes {file} of {image}, once in image_directory",
     into<&ContainerTemplateEntry::import_command>},
};
constinit Type const container_template{
    .shape = Shape::object, .keys = template_keys, .rule = require_usable_template};
constinit Type const image_directory{.shape = Shape::text, .rule = require_image_directory};

constexpr Key pool_keys[] = {
    required({"name", pool_name, "", "the value of resources.resource_pool", into<&PoolEntry::name>}),
    {"description", text, "", "a description in one sentence", into<&PoolEntry::description>},
    {"partition", word, "", "one, or several separated by commas; default: the pool's name",
     into<&PoolEntry::partition>},
    {"pass_partition", boolean, "true", "false: no sbatch --partition; qos, constraint or the site choose it",
     into<&PoolEntry::passes_partition>},
    {"qos", word, "", "sbatch --qos", into<&PoolEntry::qos>},
    {"account", word, "", "sbatch --account", into<&PoolEntry::account>},
    {"reservation", word, "", "sbatch --reservation", into<&PoolEntry::reservation>},
    {"constraint", word, "", "sbatch --constraint: features of the nodes", into<&PoolEntry::constraint>},
    {"user_options", user_options, "", "options above that slurm.sbatch_args may replace",
     into<&PoolEntry::user_options>},
    {"slot_type", slot_type, "", "cuda, rocm, xpu or cpu; default: by the GPUs of the nodes",
     into<&PoolEntry::slot_type>},
    {"slots_per_node", positive_integer, "", "default: the GPUs of a node, else its CPUs",
     into<&PoolEntry::slots_per_node>},
    {"gpu_type", pool_name, "", "as in --gres=gpu:TYPE:N", into<&PoolEntry::gpu_type>},
    {"whole_memory", boolean, "true", "false: no --mem=0", into<&PoolEntry::has_whole_memory>},
    {"exclusive", boolean, "true", "false: trials ask for their slots only and share nodes with other jobs",
     into<&PoolEntry::is_exclusive>},
    {"mixed_nodes", boolean, "false", "true: a trial may use nodes of several kinds",
     into<&PoolEntry::may_mix_nodes>},
    {"network_interface", word, "", "network interface between nodes", into<&PoolEntry::network_interface>},
    {"host_suffix", host_suffix, "", "added to the names of nodes where ranks connect: i for node1i",
     into<&PoolEntry::host_suffix>},
    {"container_runtime", container_runtime, "", "the container runtime",
     into<&PoolEntry::container_runtime>},
    {"container_template", container_template, "", "how containers of another runtime are started",
     into<&PoolEntry::container_template>},
    {"scheduler", scheduler, "", "priority or fair_share", into<&PoolEntry::scheduler>},
    {"grace_time", non_negative_integer, "", "seconds that a preempted trial needs to save its work",
     into<&PoolEntry::grace_time_s>},
    {"limits", limits, "", "limits of one trial", into<&PoolEntry::limits>},
    {"sbatch_args", sbatch_args, "", "more options for sbatch", into<&PoolEntry::sbatch_args>},
    {"srun_args", srun_args, "", "more options for srun", into<&PoolEntry::srun_args>},
    {"task_defaults", experiment, "", "a configuration that has lower precedence than the users'",
     into<&PoolEntry::task_defaults>},
    {"invariants", experiment, "", "a configuration that overrides the users'", into<&PoolEntry::invariants>},
};
constinit Type const pool{.shape = Shape::object, .keys = pool_keys, .rule = refuse_pool_of_pool};
constinit Type const pools{.shape = Shape::list, .item = &pool, .rule = require_pools_of_different_names};

constexpr Key site_keys[] = {
    required({"version", positive_integer, "", "1", into<&SiteFile::version>}),
    {"name", text, "", "the name of the cluster", into<&SiteFile::name>},
    {"storage_root", storage_root, "", "directory of experiments; %u: the user's name",
     into<&SiteFile::storage_root>},
    {"purge_days", positive_integer, "", "the site deletes files of storage_root after so many days",
     into<&SiteFile::purge_days>},
    {"sharing", sharing, "private", "group: the group of a root can read its new experiments",
     into<&SiteFile::sharing>},
    {"templates", absolute_path, "", "directory of configuration templates for all users",
     into<&SiteFile::templates>},
    {"default_compute_pool", pool_name, "", "pool for trials that name none",
     into<&SiteFile::default_compute_pool>},
    {"default_aux_pool", pool_name, "", "pool for trials of 0 slots", into<&SiteFile::default_aux_pool>},
    {"pool_per_partition", boolean, "true", "false: only the pools of this file",
     into<&SiteFile::has_pool_per_partition>},
    {"refuse_group_code", boolean, "false", "true: code that a group can write is refused, else warned of",
     into<&SiteFile::refuses_group_code>},
    {"trusted_ancestors", trusted_ancestors, "", "directories above roots and code that a group may write",
     into<&SiteFile::trusted_ancestors>},
    {"trusted_owners", trusted_owners, "",
     "users, and groups as group:NAME, who may own what the site provides", into<&SiteFile::trusted_owners>},
    {"job_template", absolute_path, "", "path of a job template that replaces the built-in one",
     into<&SiteFile::job_template>},
    {"job_name", job_name, "exp-%i", "names of jobs: %n is the experiment's name, %i its number",
     into<&SiteFile::job_name>},
    {"job_project_source", project_source, "", "the source of --wckey", into<&SiteFile::job_project_source>},
    {"scheduler", scheduler, "", "priority or fair_share", into<&SiteFile::scheduler>},
    {"container_runtime", container_runtime, "", "the container runtime", into<&SiteFile::container_runtime>},
    {"container_template", container_template, "", "how containers of another runtime are started",
     into<&SiteFile::container_template>},
    {"image_directory", image_directory, "", "where images are imported once; %u: the user's name",
     into<&SiteFile::image_directory>},
    {"network_interface", word, "", "network interface between nodes", into<&SiteFile::network_interface>},
    {"host_suffix", host_suffix, "", "added to the names of nodes where ranks connect: i for node1i",
     into<&SiteFile::host_suffix>},
    {"user_options", user_options, "", "options of pools that slurm.sbatch_args may replace",
     into<&SiteFile::user_options>},
    {"sbatch_args", sbatch_args, "", "more options for sbatch, in all pools", into<&SiteFile::sbatch_args>},
    {"srun_args", srun_args, "", "more options for srun, in all pools", into<&SiteFile::srun_args>},
    {"task_defaults", experiment, "", "a configuration that has lower precedence than the users'",
     into<&SiteFile::task_defaults>},
    {"invariants", experiment, "", "a configuration that overrides the users'", into<&SiteFile::invariants>},
    {"pools", pools, "", "the pools", into<&SiteFile::pools>},
};

}  // namespace

constinit Type const site_file = object_of(site_keys);

}  // namespace det::config::schema
