#include <det/foundation/reversed.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>

namespace det {
namespace {

/// Parses an enumerator name. Throws a JSON exception, which decode_json converts to an error.
template <class Parse>
auto named(Json const& json, char const* key, Parse parse) {
    auto const text = json.at(key).get<std::string>();
    auto const value = parse(text);
    if (!value)
        throw Json::other_error::create(501, std::string(key) + " '" + text + "' is unknown", nullptr);
    return *value;
}

Json to_json(TrialShape const& shape) {
    return {{"nodes", shape.nodes},
            {"slots_per_node", shape.slots_per_node},
            {"slot_type", to_string(shape.slot_type)}};
}

Json context_to_json(std::optional<ContextSpec> const& context) {
    if (!context) return nullptr;
    return {{"sha256", context->sha256},
            {"size_bytes", context->size_bytes},
            {"has_startup_hook", context->has_startup_hook}};
}

std::optional<ContextSpec> context_from(Json const& json) {
    if (json.is_null()) return std::nullopt;
    return ContextSpec{json.at("sha256"), json.at("size_bytes"), json.at("has_startup_hook")};
}

Json to_json(std::vector<LogPolicySpec> const& policies) {
    auto list = Json::array();
    for (auto const& policy : policies) {
        list.push_back(
            {{"name", policy.name}, {"pattern", policy.pattern}, {"action", to_string(policy.action)}});
    }
    return list;
}

std::vector<LogPolicySpec> log_policies_from(Json const& json) {
    std::vector<LogPolicySpec> policies;
    for (auto const& policy : json) {
        policies.push_back(
            {policy.at("name"), policy.at("pattern"), named(policy, "action", parse_log_action)});
    }
    return policies;
}

/// Example: [{"number": 1, "first_runs": [[3, 2]]}] means that trial 3 counts from its run 2 on.
Json to_json(std::vector<Revision> const& revisions) {
    auto list = Json::array();
    for (auto const& revision : revisions) {
        auto first_runs = Json::array();
        for (auto const& [trial, run] : revision.first_runs) first_runs.push_back(Json::array({trial, run}));
        list.push_back({{"number", revision.number}, {"first_runs", std::move(first_runs)}});
    }
    return list;
}

std::vector<Revision> revisions_from(Json const& json) {
    std::vector<Revision> revisions;
    for (auto const& each : json) {
        auto& revision = revisions.emplace_back();
        revision.number = each.at("number");
        for (auto const& pair : each.at("first_runs")) revision.first_runs[pair.at(0)] = pair.at(1);
    }
    return revisions;
}

}  // namespace

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
    Json body{{"id", spec.id.value},
              {"name", spec.name},
              {"owner", spec.owner},
              {"parent", spec.parent ? Json(spec.parent->value) : Json(nullptr)},
              {"created", format_utc(spec.created)},
              {"root", spec.root},
              {"pool", spec.pool},
              {"shape", to_json(spec.shape)},
              {"lanes", spec.lanes},
              {"spare_nodes", spec.spare_nodes},
              {"excluded_nodes", spec.excluded_nodes},
              {"sbatch_options", spec.sbatch_options},
              {"launch", to_string(spec.launch)},
              {"mpi", to_string(spec.mpi)},
              {"entrypoint", spec.entrypoint},
              {"environment_variables", spec.environment_variables},
              {"context", context_to_json(spec.context)},
              {"searcher", Json{{"name", spec.searcher.name},
                                {"metric", spec.searcher.metric},
                                {"smaller_is_better", spec.searcher.smaller_is_better},
                                {"options", spec.searcher.options}}},
              {"hyperparameters", spec.hyperparameters},
              {"experiment_seed", spec.experiment_seed},
              {"trial_count", spec.trial_count},
              {"max_restarts", spec.max_restarts},
              {"preemption_timeout_s", spec.preemption_timeout_s},
              {"log_policies", to_json(spec.log_policies)},
              {"forward_signals", spec.forward_signals},
              {"checkpoint_path", spec.checkpoint_path},
              {"config", spec.config}};
    if (spec.has_fewer_tasks) body["has_fewer_tasks"] = true;
    if (!spec.has_gres) body["has_gres"] = false;
    if (spec.has_default_max_restarts) body["has_default_max_restarts"] = true;
    if (!spec.setup.empty()) body["setup"] = spec.setup;
    if (spec.working_directory != WorkingDirectory::node_local)
        body["working_directory"] = to_string(spec.working_directory);
    if (!spec.persist.empty()) body["persist"] = spec.persist;
    if (!spec.preempted_exit_codes.empty()) body["preempted_exit_codes"] = spec.preempted_exit_codes;
    if (!spec.progress_globs.empty()) body["progress_globs"] = spec.progress_globs;
    if (spec.hang_timeout_s) body["hang_timeout_s"] = *spec.hang_timeout_s;
    if (spec.tensorboard) body["tensorboard"] = true;
    if (spec.source_checkpoint) body["source_checkpoint"] = *spec.source_checkpoint;
    if (!spec.source_checkpoint_sha256.empty())
        body["source_checkpoint_sha256"] = spec.source_checkpoint_sha256;
    if (spec.source_checkpoint_owner) body["source_checkpoint_owner"] = *spec.source_checkpoint_owner;
    if (spec.notice_s) body["notice_s"] = *spec.notice_s;
    if (spec.container) body["container"] = container_to_json(*spec.container);
    if (!spec.revisions.empty()) body["revisions"] = to_json(spec.revisions);
    return body;
}

std::string render_spec(ExperimentSpec const& spec) {
    return render_document(documents::spec, to_json(spec));
}

Result<ExperimentSpec> parse_spec(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::spec, text));
    return spec_from_json(body);
}

Result<ExperimentSpec> spec_from_json(Json const& body) {
    return decode_json("spec.json", [&] {
        ExperimentSpec spec;
        spec.id = ExperimentId{body.at("id")};
        spec.name = body.at("name");
        spec.owner = body.at("owner");
        if (auto const& parent = body.at("parent"); !parent.is_null()) spec.parent = ExperimentId{parent};
        spec.created = parse_utc(body.at("created").get<std::string>()).value_or(UtcTime{});
        spec.root = body.at("root");
        spec.pool = body.at("pool");
        auto const& shape = body.at("shape");
        spec.shape = {shape.at("nodes"), shape.at("slots_per_node"),
                      named(shape, "slot_type", parse_slot_type)};
        spec.lanes = std::max(1u, body.at("lanes").get<std::uint32_t>());
        spec.has_fewer_tasks = body.value("has_fewer_tasks", false);
        spec.has_gres = body.value("has_gres", true);
        spec.spare_nodes = body.at("spare_nodes");
        spec.excluded_nodes = body.at("excluded_nodes");
        spec.sbatch_options = body.at("sbatch_options").get<std::vector<std::string>>();
        spec.launch = named(body, "launch", parse_launch);
        spec.mpi = named(body, "mpi", parse_mpi);
        spec.entrypoint = body.at("entrypoint").get<std::vector<std::string>>();
        spec.environment_variables = body.at("environment_variables").get<std::vector<std::string>>();
        spec.setup = body.value("setup", std::vector<std::string>());
        if (body.contains("working_directory"))
            spec.working_directory = named(body, "working_directory", parse_working_directory);
        spec.persist = body.value("persist", std::vector<std::string>());
        spec.context = context_from(body.at("context"));
        spec.container = container_from_json(body.value("container", Json()));
        auto const& searcher = body.at("searcher");
        spec.searcher = {searcher.at("name"), searcher.at("metric"), searcher.at("smaller_is_better"),
                         searcher.at("options")};
        spec.hyperparameters = body.at("hyperparameters");
        spec.experiment_seed = body.at("experiment_seed");
        spec.trial_count = body.at("trial_count");
        spec.max_restarts = body.at("max_restarts");
        spec.has_default_max_restarts = body.value("has_default_max_restarts", false);
        spec.preemption_timeout_s = body.at("preemption_timeout_s");
        if (auto const notice = body.find("notice_s"); notice != body.end()) spec.notice_s = *notice;
        spec.log_policies = log_policies_from(body.at("log_policies"));
        spec.forward_signals = body.at("forward_signals").get<std::vector<std::string>>();
        spec.preempted_exit_codes = body.value("preempted_exit_codes", std::vector<int>());
        spec.progress_globs = body.value("progress_globs", std::vector<std::string>());
        if (auto const hang = body.find("hang_timeout_s"); hang != body.end()) spec.hang_timeout_s = *hang;
        spec.tensorboard = body.value("tensorboard", false);
        if (auto const source = body.find("source_checkpoint"); source != body.end())
            spec.source_checkpoint = source->get<std::string>();
        spec.source_checkpoint_sha256 = body.value("source_checkpoint_sha256", "");
        if (auto const owner = body.find("source_checkpoint_owner"); owner != body.end())
            spec.source_checkpoint_owner = owner->get<std::uint32_t>();
        spec.checkpoint_path = body.at("checkpoint_path");
        spec.config = body.at("config");
        spec.revisions = revisions_from(body.value("revisions", Json::array()));
        return spec;
    });
}

}  // namespace det
