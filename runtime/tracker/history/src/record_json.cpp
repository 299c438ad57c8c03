#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/record_json.hpp>

#include <fmt/format.h>

namespace det::tracker::history {
namespace {

Error damaged(std::string_view what) {
    return {codes::damaged, fmt::format("'{}' is not what it should be", what)};
}

Json life_to_json(lifecycle::RunView const& run) {
    auto records = Json::array();
    for (auto const& record : run.records()) records.push_back(det::to_json(record));
    return records;
}

Result<lifecycle::RunView> parse_life(Json const& json) {
    lifecycle::RunView run;
    for (auto const& element : json) {
        DET_TRY_ASSIGN(auto const record, parse_record(element));
        run.add(record);
    }
    return run;
}

/// Records from which RunReports::add() makes these reports again, except the metrics. The run's number,
/// beginning and cut-off are not in them.
std::vector<Record> records_of(RunReports const& run) {
    std::vector<Record> records;
    if (run.first_step) records.push_back(FirstStep{*run.first_step});
    for (auto const& checkpoint : run.checkpoints) records.push_back(checkpoint);
    for (auto const& alert : run.alerts) records.push_back(alert);
    if (run.progress) records.push_back(ProgressReported{{}, *run.progress});
    if (run.metadata) records.push_back(TrialMetadataSet{{}, *run.metadata});
    if (run.status) records.push_back(StatusSet{{}, *run.status});
    if (run.dropped_reports > 0) records.push_back(ReportsDropped{{}, run.dropped_reports, {}});
    if (run.acknowledged) records.push_back(*run.acknowledged);
    return records;
}

Result<DesiredState> parse_desired_name(std::string const& name) {
    for (auto const desired :
         {DesiredState::run, DesiredState::pause, DesiredState::cancel, DesiredState::kill}) {
        if (to_string(desired) == name) return desired;
    }
    return damaged("desired");
}

Result<std::vector<Event>> parse_events(Json const& json) {
    std::vector<Event> events;
    for (auto const& element : json) {
        DET_TRY_ASSIGN(auto event, event_from_json(element));
        events.push_back(std::move(event));
    }
    return events;
}

/// The members of a JSON object that its parser reads, checked for their types once.
struct TrialFields {
    std::string trial;
    std::string desired;
    std::string claimed_by;
    Json runs;
};

struct ExperimentFields {
    std::uint32_t id = 0;
    std::string desired;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> replacements;
    Json spec;
    Json events;
    Json trials;
};

}  // namespace

Json to_json(TrialRecord const& trial) {
    Json json{{"trial", to_string(trial.id)}, {"desired", to_string(trial.desired)}, {"runs", Json::array()}};
    if (trial.claimed_by) json["claimed_by"] = slurm::to_string(*trial.claimed_by);
    for (auto const& run : trial.runs) json["runs"].push_back(life_to_json(run));
    return json;
}

Result<TrialRecord> parse_trial_record(Json const& json) {
    DET_TRY_ASSIGN(auto const fields, decode_json("trial", [&] {
                       return TrialFields{json.at("trial"), json.at("desired"), json.value("claimed_by", ""),
                                          json.at("runs")};
                   }));
    auto const id = parse_trial_id(fields.trial);
    if (!id) return damaged("trial");
    TrialRecord trial{*id, DesiredState::run, {}, {}};
    DET_TRY_ASSIGN(trial.desired, parse_desired_name(fields.desired));
    if (!fields.claimed_by.empty()) {
        trial.claimed_by = slurm::parse_job_ref(fields.claimed_by);
        if (!trial.claimed_by) return damaged("claimed_by");
    }
    for (auto const& life : fields.runs) {
        DET_TRY_ASSIGN(auto run, parse_life(life));
        trial.runs.push_back(std::move(run));
    }
    return trial;
}

Json to_json_without_trials(ExperimentRecord const& experiment) {
    Json json{{"experiment", experiment.id.value},
              {"events", Json::array()},
              {"desired", to_string(experiment.desired)},
              {"replacements", experiment.replacements}};
    if (experiment.spec) json["spec"] = det::to_json(*experiment.spec);
    for (auto const& event : experiment.events) json["events"].push_back(det::to_json(event));
    return json;
}

Json to_json(ExperimentRecord const& experiment) {
    auto json = to_json_without_trials(experiment);
    json["trials"] = Json::array();
    for (auto const& trial : experiment.trials) json["trials"].push_back(to_json(trial));
    return json;
}

Result<ExperimentRecord> parse_experiment_record(Json const& json) {
    DET_TRY_ASSIGN(auto fields, decode_json("experiment", [&] {
                       return ExperimentFields{json.at("experiment"),   json.at("desired"),
                                               json.at("replacements"), json.value("spec", Json()),
                                               json.at("events"),       json.value("trials", Json::array())};
                   }));
    ExperimentRecord experiment;
    experiment.id = {fields.id};
    DET_TRY_ASSIGN(experiment.desired, parse_desired_name(fields.desired));
    experiment.replacements.insert(fields.replacements.begin(), fields.replacements.end());
    if (!fields.spec.is_null()) {
        DET_TRY_ASSIGN(experiment.spec, spec_from_json(fields.spec));
    }
    DET_TRY_ASSIGN(experiment.events, parse_events(fields.events));
    for (auto const& element : fields.trials) {
        DET_TRY_ASSIGN(auto trial, parse_trial_record(element));
        experiment.trials.push_back(std::move(trial));
    }
    return experiment;
}

Json to_json_without_metrics(RunReports const& run) {
    Json json{{"run", run.run}, {"first_steps", run.beginning.first_steps}, {"records", Json::array()}};
    if (run.beginning.resumed_from) json["resumed_from"] = *run.beginning.resumed_from;
    if (run.last_step) json["last_step"] = *run.last_step;
    for (auto const& record : records_of(run)) json["records"].push_back(det::to_json(record));
    return json;
}

Json to_json(RunReports const& run) {
    auto json = to_json_without_metrics(run);
    for (auto const& report : run.metrics) json["records"].push_back(det::to_json(Record(report)));
    return json;
}

Result<RunReports> parse_run_reports(Json const& json) {
    struct Fields {
        std::uint32_t run;
        std::map<std::string, std::uint64_t, std::less<>> first_steps;
        std::optional<std::uint64_t> resumed_from;
        std::optional<std::uint64_t> last_step;
        Json records;
    };
    DET_TRY_ASSIGN(auto fields, decode_json("reports", [&] {
                       Fields found{json.at("run"), json.at("first_steps"), {}, {}, json.at("records")};
                       if (json.contains("resumed_from"))
                           found.resumed_from = json.at("resumed_from").get<std::uint64_t>();
                       if (json.contains("last_step"))
                           found.last_step = json.at("last_step").get<std::uint64_t>();
                       return found;
                   }));
    RunReports run;
    run.run = fields.run;
    for (auto const& element : fields.records) {
        DET_TRY_ASSIGN(auto const record, parse_record(element));
        run.add(record);
    }
    run.beginning = {fields.resumed_from, std::move(fields.first_steps)};
    if (fields.last_step) run.last_step = fields.last_step;
    return run;
}

}  // namespace det::tracker::history
