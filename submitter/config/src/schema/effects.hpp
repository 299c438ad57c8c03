#pragma once
#include "type.hpp"

// For the rows of the key tables: why a key has no effect in an experiment, judged by its configuration
// alone (scripts are not read). Each function is a WhyNone.
namespace det::config::schema {

std::string_view if_not_profiled(yaml::Node const& config);
std::string_view if_without_image(yaml::Node const& config);
std::string_view if_rungs_are_listed(yaml::Node const& config);
std::string_view if_nothing_is_staged(yaml::Node const& config);
std::string_view if_single_or_script(yaml::Node const& config);
std::string_view if_script(yaml::Node const& config);
std::string_view if_script_keeps_variables(yaml::Node const& config);
std::string_view if_script_uses_all_nodes(yaml::Node const& config);
std::string_view if_script_without_container(yaml::Node const& config);
std::string_view if_not_elastic(yaml::Node const& config);
std::string_view if_batch_script(yaml::Node const& config);
std::string_view if_script_runs_in_place(yaml::Node const& config);
std::string_view if_all_files_are_kept(yaml::Node const& config);
std::string_view if_not_once(yaml::Node const& config);
std::string_view if_shared_fs(yaml::Node const& config);
std::string_view if_nice_is_set(yaml::Node const& config);
std::string_view if_without_hook(yaml::Node const& config);
std::string_view if_no_horovod(yaml::Node const& config);
std::string_view if_no_trial_class(yaml::Node const& config);
std::string_view if_no_trial_class_or_horovod(yaml::Node const& config);
std::string_view if_no_trial_class_or_epochs(yaml::Node const& config);

}  // namespace det::config::schema
