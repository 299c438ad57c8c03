#include <algorithm>

#include "command.hpp"

namespace det::cli {
namespace {

constexpr CommandEntry entries[] = {
    {"experiment", "create", "submit an experiment", make_experiment_create},
    {"experiment", "list", "your experiments and their states", make_experiment_list},
    {"experiment", "describe", "one experiment: its trials, runs and how they ended",
     make_experiment_describe},
    {"experiment", "list-checkpoints", "the checkpoints of its trials", make_experiment_list_checkpoints},
    {"experiment", "wait", "wait for the end of an experiment", make_experiment_wait},
    {"trial", "logs", "what the ranks of a trial printed", make_trial_logs},
    {"trial", "metrics", "what a trial reported", make_trial_metrics},
    {"resource-pool", "list", "where trials can run: slots, free nodes, queue", make_resource_pool_list},
    {"resource-pool", "describe", "one pool: its nodes, limits, defaults", make_resource_pool_describe},
    {"site", "check", "what has to change for experiments to run well here", make_site_check},
    {"job", "list", "the queue, in the order in which it is scheduled", make_job_list},
    {"config", "check", "everything that is wrong with a configuration", make_config_check},
    {"config", "conform", "run a file of conformance cases", make_config_conform},
    {"config", "show", "the effective configuration, and where each value comes from", make_config_show},
    {"config", "defaults", "every key, its default and its meaning", make_config_defaults},
    {"config", "schema", "a JSON Schema, for editors", make_config_schema},
    {"template", "list", "configuration templates: yours and the shipped ones", make_template_list},
    {"template", "describe", "what a template says", make_template_describe},
    {"template", "create", "make a template of a file", make_template_create},
    {"template", "set", "make a template, or replace it", make_template_set},
    {"template", "set-value", "change one value of a template", make_template_set_value},
    {"template", "remove", "remove a template of yours", make_template_remove},
    {"", "dump", "any file that det-submit wrote, readable", make_dump},
};

constexpr GroupAlias aliases[] = {
    {"e", "experiment"}, {"exp", "experiment"}, {"t", "trial"},
    {"j", "job"},        {"tpl", "template"},   {"rp", "resource-pool"},
};

}  // namespace

std::string CommandEntry::page_name() const {
    auto page = group.empty() ? std::string(name) : std::string(group) + "_" + std::string(name);
    std::replace(page.begin(), page.end(), '-', '_');
    return page;
}

std::span<CommandEntry const> command_table() { return entries; }
std::span<GroupAlias const> group_aliases() { return aliases; }

}  // namespace det::cli
