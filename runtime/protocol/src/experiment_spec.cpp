#include <det/foundation/reversed.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>

#include "json_fields.hpp"

namespace det {

template <>
inline constexpr JsonField json_fields<TrialShape>[] = {
    field<&TrialShape::nodes>("nodes"),
    field<&TrialShape::slots_per_node>("slots_per_node"),
    named_field<&TrialShape::slot_type, parse_slot_type>("slot_type"),
};

template <>
inline constexpr JsonField json_fields<ContextSpec>[] = {
    field<&ContextSpec::sha256>("sha256"),
    field<&ContextSpec::size_bytes>("size_bytes"),
    field<&ContextSpec::has_startup_hook>("has_startup_hook"),
};

template <>
inline constexpr JsonField json_fields<SearcherSpec>[] = {
    field<&SearcherSpec::name>("name"),
    field<&SearcherSpec::metric>("metric"),
    field<&SearcherSpec::smaller_is_better>("smaller_is_better"),
    field<&SearcherSpec::options>("options"),
};

template <>
inline constexpr JsonField json_fields<LogPolicySpec>[] = {
    field<&LogPolicySpec::name>("name"),
    field<&LogPolicySpec::pattern>("pattern"),
    named_field<&LogPolicySpec::action, parse_log_action>("action"),
};

/// Example: {"number": 1, "first_runs": [[3, 2]]} means that trial 3 counts from its run 2 on.
template <>
inline constexpr JsonField json_fields<Revision>[] = {
    field<&Revision::number>("number"),
    field<&Revision::first_runs>("first_runs"),
};

template <>
inline constexpr JsonField json_fields<ContainerMount>[] = {
    field<&ContainerMount::host_path>("host_path"),
    field<&ContainerMount::container_path>("container_path"),
    field<&ContainerMount::read_only>("read_only"),
    field<&ContainerMount::propagation>("propagation"),
};

template <>
inline constexpr JsonField json_fields<ContainerDevice>[] = {
    field<&ContainerDevice::host_path>("host_path"),
    field<&ContainerDevice::container_path>("container_path"),
    field<&ContainerDevice::mode>("mode"),
};

template <>
inline constexpr JsonField json_fields<ContainerTemplate>[] = {
    field<&ContainerTemplate::name>("name"),
    field<&ContainerTemplate::command>("command"),
    field<&ContainerTemplate::srun_args>("srun_args"),
    field<&ContainerTemplate::cuda_options>("cuda_options"),
    field<&ContainerTemplate::rocm_options>("rocm_options"),
    absent_in_old(field<&ContainerTemplate::xpu_options>("xpu_options")),
    field<&ContainerTemplate::import_command>("import_command"),
};

template <>
inline constexpr JsonField json_fields<ContainerSpec>[] = {
    named_field<&ContainerSpec::runtime, parse_container_runtime>("runtime"),
    field<&ContainerSpec::image>("image"),
    field<&ContainerSpec::mounts>("mounts"),
    field<&ContainerSpec::devices>("devices"),
    field<&ContainerSpec::shm_size_bytes>("shm_size_bytes"),
    field<&ContainerSpec::pulls_always>("pulls_always"),
    field<&ContainerSpec::add_capabilities>("add_capabilities"),
    field<&ContainerSpec::drop_capabilities>("drop_capabilities"),
    optional_field<&ContainerSpec::custom>("custom"),
    optional_field<&ContainerSpec::image_file>("image_file"),
};

template <>
inline constexpr JsonField json_fields<BatchScriptSpec>[] = {
    field<&BatchScriptSpec::working_directory>("working_directory"),
    optional_field<&BatchScriptSpec::array_task_ids>("array_task_ids"),
    optional_field<&BatchScriptSpec::submit_directory>("submit_directory"),
};

template <>
inline constexpr JsonField json_fields<LaunchOptions>[] = {
    named_field<&LaunchOptions::launch, parse_launch>("launch"),
    field<&LaunchOptions::mpi>("mpi"),
    optional_field<&LaunchOptions::srun_args>("srun_args"),
    optional_field<&LaunchOptions::bind>("bind"),
    optional_field<&LaunchOptions::setup>("setup"),
    written_if<&LaunchOptions::working_directory>(
        named_field<&LaunchOptions::working_directory, parse_working_directory>("working_directory")),
    field<&LaunchOptions::forward_signals>("forward_signals"),
    optional_field<&LaunchOptions::preempted_exit_codes>("preempted_exit_codes"),
    optional_field<&LaunchOptions::progress_globs>("progress_globs"),
    optional_field<&LaunchOptions::hang_timeout_s>("hang_timeout_s"),
    optional_field<&LaunchOptions::tensorboard>("tensorboard"),
};

template <>
inline constexpr JsonField json_fields<ExperimentSpec>[] = {
    field<&ExperimentSpec::id>("id"),
    field<&ExperimentSpec::name>("name"),
    field<&ExperimentSpec::owner>("owner"),
    field<&ExperimentSpec::parent>("parent"),
    field<&ExperimentSpec::created>("created"),
    field<&ExperimentSpec::root>("root"),
    field<&ExperimentSpec::pool>("pool"),
    field<&ExperimentSpec::shape>("shape"),
    optional_field<&ExperimentSpec::nodes_min>("nodes_min"),
    field<&ExperimentSpec::lanes>("lanes"),
    optional_field<&ExperimentSpec::has_fewer_tasks>("has_fewer_tasks"),
    written_unless<&ExperimentSpec::has_gres>(field<&ExperimentSpec::has_gres>("has_gres")),
    field<&ExperimentSpec::spare_nodes>("spare_nodes"),
    field<&ExperimentSpec::excluded_nodes>("excluded_nodes"),
    field<&ExperimentSpec::sbatch_options>("sbatch_options"),
    field<&ExperimentSpec::entrypoint>("entrypoint"),
    field<&ExperimentSpec::environment_variables>("environment_variables"),
    optional_field<&ExperimentSpec::batch_script>("batch_script"),
    optional_field<&ExperimentSpec::persist>("persist"),
    field<&ExperimentSpec::context>("context"),
    optional_field<&ExperimentSpec::container>("container"),
    field<&ExperimentSpec::searcher>("searcher"),
    field<&ExperimentSpec::hyperparameters>("hyperparameters"),
    field<&ExperimentSpec::experiment_seed>("experiment_seed"),
    field<&ExperimentSpec::trial_count>("trial_count"),
    field<&ExperimentSpec::max_restarts>("max_restarts"),
    optional_field<&ExperimentSpec::has_default_max_restarts>("has_default_max_restarts"),
    field<&ExperimentSpec::preemption_timeout_s>("preemption_timeout_s"),
    optional_field<&ExperimentSpec::notice_s>("notice_s"),
    field<&ExperimentSpec::log_policies>("log_policies"),
    optional_field<&ExperimentSpec::source_checkpoint>("source_checkpoint"),
    optional_field<&ExperimentSpec::source_checkpoint_sha256>("source_checkpoint_sha256"),
    optional_field<&ExperimentSpec::source_checkpoint_owner>("source_checkpoint_owner"),
    field<&ExperimentSpec::checkpoint_path>("checkpoint_path"),
    field<&ExperimentSpec::config>("config"),
    optional_field<&ExperimentSpec::revisions>("revisions"),
};

std::uint32_t ExperimentSpec::first_run_of(std::uint32_t trial) const {
    for (auto const& revision : reversed(revisions)) {
        auto const found = revision.first_runs.find(trial);
        if (found != revision.first_runs.end()) return found->second;
    }
    return 0;
}

std::vector<Event> events_in_force(std::vector<Event> events, ExperimentSpec const& spec) {
    std::erase_if(events, [&](Event const& event) {
        if (event.kind != event_kinds::continued || !event.body->is_object()) return false;
        auto const number = event.body->value("revision", Json());
        return std::ranges::none_of(spec.revisions,
                                    [&](Revision const& each) { return number == each.number; });
    });
    return events;
}

Json to_json(ExperimentSpec const& spec) {
    auto json = fields_to_json(spec);
    write_fields(json, json_fields<LaunchOptions>, static_cast<LaunchOptions const*>(&spec));
    return json;
}

std::string render_spec(ExperimentSpec const& spec) {
    return render_document(documents::spec, to_json(spec));
}

Result<ExperimentSpec> parse_spec(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::spec, text));
    return spec_from_json(body);
}

Result<ExperimentSpec> spec_from_json(Json const& body) {
    DET_TRY_ASSIGN(auto spec, fields_from_json<ExperimentSpec>("spec.json", body));
    DET_TRY_ASSIGN(static_cast<LaunchOptions&>(spec), fields_from_json<LaunchOptions>("spec.json", body));
    spec.lanes = std::max(1u, spec.lanes);
    return spec;
}

}  // namespace det
