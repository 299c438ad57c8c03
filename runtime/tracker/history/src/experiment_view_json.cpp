#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/protocol/run_shape.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/experiment_view_json.hpp>

namespace det::tracker::history {
namespace {

Json continuations_of(ExperimentRecord const& record) {
    auto list = Json::array();
    for (auto const& event : record.events) {
        if (event.kind != event_kinds::continued) continue;
        Json json{{"time", format_utc(event.time)}, {"by", event.by}};
        for (auto const* key : {"revision", "trials", "changes"}) json[key] = event.body->value(key, Json());
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace

Json to_json(TrialView const& trial) {
    auto runs = Json::array();
    for (std::size_t number = 0; number < trial.record.runs.size(); ++number) {
        auto const& run = trial.record.runs[number];
        // A field without a value yet is null, not absent.
        Json json{{"run", number}};
        for (auto const* key :
             {"started", "hosts", "nodes", "slots", "job", "restart_count", "latest_checkpoint",
              "steps_completed", "ended", "cause", "follow", "exit_code", "message"})
            json[key] = nullptr;
        if (run.started) {
            json["started"] = format_utc(run.started->time);
            json["hosts"] = run.started->hosts;
            auto const hosts = expand_host_list(run.started->hosts);
            if (hosts && !hosts->empty()) json["nodes"] = hosts->size();
            if (auto const slots = slots_of(*run.started)) json["slots"] = *slots;
            json["job"] = run.started->job;
            json["restart_count"] = run.started->restart_count;
            json["latest_checkpoint"] = run.started->latest_checkpoint;
            json["steps_completed"] = run.started->steps_completed;
        }
        if (run.ended) {
            json["ended"] = format_utc(run.ended->time);
            json["cause"] = run.ended->cause_name();
            json["follow"] = to_string(run.ended->next_action);
            json["exit_code"] = run.ended->exit_code;
            json["message"] = run.ended->message;
        }
        json["alerts"] = Json::array();
        for (auto const& alert : run.alerts) json["alerts"].push_back(to_json(alert));
        runs.push_back(std::move(json));
    }
    return {{"id", to_integer(trial.record.id)},
            {"name", to_string(trial.record.id)},
            {"state", to_string(trial.state)},
            {"runs", std::move(runs)}};
}

Json to_json(AlertRaised const& alert) {
    return {{"time", format_utc(alert.time)},
            {"level", alert.level},
            {"title", alert.title},
            {"description", alert.description}};
}

Json to_json(Interruption const& interruption) {
    return {{"run", interruption.run},
            {"noticed", json_or_null(interruption.noticed)},
            {"acknowledged", json_or_null(interruption.acknowledged)},
            {"saved", json_or_null(interruption.saved)},
            {"ended", json_or_null(interruption.ended)},
            {"queued", json_or_null(interruption.queued)},
            {"started", json_or_null(interruption.started)},
            {"trained", json_or_null(interruption.trained)}};
}

Json to_json_without_trials(ExperimentView const& view) {
    auto const& record = view.record;
    Json json{
        {"id", record.id.value}, {"state", to_string(view.state)}, {"desired", to_string(record.desired)}};
    auto const arrays = record.arrays();
    json["job_id"] = arrays.empty() ? Json(nullptr) : Json(std::to_string(arrays.front().job));
    json["job_ids"] = Json::array();
    for (auto const& array : arrays) json["job_ids"].push_back(std::to_string(array.job));
    json["started"] = json_or_null(view.started());
    json["ended"] = json_or_null(view.ended());
    if (record.spec) {
        auto const& spec = *record.spec;
        auto const now = attributes_of(record);
        json["name"] = now.name;
        json["description"] = now.description;
        json["notes"] = now.notes;
        json["labels"] = now.labels;
        json["archived"] = now.is_archived;
        json["max_slots"] = json_or_null(now.max_slots);
        json["max_concurrent_trials"] = json_or_null(now.max_concurrent_trials);
        json["owner"] = spec.owner;
        json["parent_id"] = spec.parent ? Json(spec.parent->value) : Json(nullptr);
        json["created"] = format_utc(spec.created);
        json["resource_pool"] = spec.pool;
        json["nodes"] = spec.shape.nodes;
        json["nodes_min"] = spec.is_elastic() ? spec.nodes_min : spec.shape.nodes;
        json["slots_per_node"] = spec.shape.slots_per_node;
    }
    json["continuations"] = continuations_of(record);
    return json;
}

Json to_json(ExperimentView const& view) {
    auto json = to_json_without_trials(view);
    json["trials"] = Json::array();
    for (auto const& trial : view.trials) json["trials"].push_back(to_json(trial));
    return json;
}

}  // namespace det::tracker::history
