#include "experiment/export_mlflow.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/http/message.hpp>

#include <fmt/format.h>

#include "experiment/export_formats.hpp"
#include "output/yaml_text.hpp"

// MLflow's store in files: EXPERIMENT/meta.yaml, and for each run EXPERIMENT/RUN/meta.yaml, metrics/NAME with
// a line "TIME_MS VALUE STEP" for each number, params/NAME and tags/NAME with the value as their text.
namespace det::cli {
namespace {

constexpr std::size_t part_limit_bytes = 100;  // of a name; MLflow takes 250 characters in all

bool is_taken_by_mlflow(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-. ").find(c) != std::string_view::npos;
}

/// A part of a name as MLflow and the file system take it. Never empty, "." or "..".
std::string mlflow_part(std::string_view text) {
    std::string part(text.substr(0, part_limit_bytes));
    for (auto& c : part)
        if (!is_taken_by_mlflow(c)) c = '_';
    if (part.empty() || part.front() == '.') part.insert(0, "_");
    return part;
}

/// The numbers of MLflow's RunStatus.
int mlflow_status(lifecycle::State state) {
    using enum lifecycle::State;
    enum { running_run = 1, scheduled, finished, failed, killed };
    switch (state) {
        case submitting:
        case queued:
        case paused:
            return scheduled;
        case starting:
        case running:
        case stopping_canceled:
        case stopping_killed:
            return running_run;
        case completed:
            return finished;
        case error:
        case interrupted:
            return failed;
        case canceled:
            break;
    }
    return killed;
}

std::int64_t to_ms(UtcTime time) { return time.microseconds / 1000; }

/// A path as a URI.
std::string file_uri(std::filesystem::path const& path) {
    std::string uri = "file://";
    for (auto const& part : path.relative_path()) uri += '/' + tracker::http::percent_encode(part.string());
    return uri;
}

std::string parameter_text(Json const& value) {
    if (!value.is_string()) return to_line(value);
    auto text = value.get<std::string>();
    return escape_control(text) == text ? text : to_line(value);
}

std::vector<std::string> parts_of(ExportedMetric const& metric) {
    auto const rank = metric.rank.value == 0 ? "" : fmt::format(" rank {}", metric.rank.value);
    return {metric.group, metric.name + rank};
}

std::string series_text(std::vector<ExportedValue> const& values) {
    std::string text;
    for (auto const& value : values)
        fmt::format_to(std::back_inserter(text), "{} {} {}\n", to_ms(value.time), value.value,
                       value.steps_completed);
    return text;
}

Status write_mlflow_file(std::filesystem::path const& directory, MlflowFile const& file) {
    auto const path = directory / file.path;
    DET_TRY(make_directories(path.parent_path()));
    return write_file(path, file.content);
}

void say_renamed(MlflowNames const& names, std::string_view kind, Session& session) {
    constexpr std::size_t said_max = 10;
    std::size_t count = 0;
    for (auto const& [name, other] : names.renamed()) {
        if (++count > said_max) break;
        session.say(fmt::format("MLflow does not take the {} '{}': it is '{}' there", kind,
                                escape_control(name), other));
    }
    if (auto const all = names.renamed().size(); all > said_max)
        session.say(fmt::format("{} more have other names too", all - said_max));
}

}  // namespace

std::string MlflowNames::add(std::vector<std::string> const& parts) {
    auto const known = known_.find(parts);
    if (known != known_.end()) return known->second;
    std::vector<std::string> taken;
    for (auto const& part : parts) taken.push_back(mlflow_part(part));
    auto const wanted = join(taken, "/");
    auto name = wanted;
    for (int number = 2; !used_.insert(name).second; ++number) name = fmt::format("{}-{}", wanted, number);
    known_.emplace(parts, name);
    if (auto const original = join(parts, "/"); original != name) renamed_.emplace(original, name);
    return name;
}

MlflowFile render_mlflow_experiment(MlflowExperiment const& experiment) {
    auto const id = std::to_string(experiment.id.value);
    return {"meta.yaml", to_yaml({{"artifact_location", file_uri(experiment.directory / id)},
                                  {"creation_time", to_ms(experiment.created)},
                                  {"experiment_id", id},
                                  {"last_update_time", to_ms(experiment.created)},
                                  {"lifecycle_stage", "active"},
                                  {"name", experiment.name}})};
}

std::vector<MlflowFile> render_mlflow_run(ExportedTrial const& trial, MlflowExperiment& experiment) {
    auto const id = std::to_string(experiment.id.value);
    auto const name = "trial " + to_string(trial.id);
    std::filesystem::path const run = trial.run_id;
    std::vector<MlflowFile> files;
    files.push_back({run / "meta.yaml",
                     to_yaml({{"artifact_uri", file_uri(experiment.directory / id / run / "artifacts")},
                              {"deleted_time", nullptr},
                              {"end_time", trial.ended ? Json(to_ms(*trial.ended)) : Json(nullptr)},
                              {"entry_point_name", ""},
                              {"experiment_id", id},
                              {"lifecycle_stage", "active"},
                              {"run_id", trial.run_id},
                              {"run_name", name},
                              {"run_uuid", trial.run_id},
                              {"source_name", ""},
                              {"source_type", 4},  // SourceType.LOCAL
                              {"source_version", ""},
                              {"start_time", to_ms(trial.started)},
                              {"status", mlflow_status(trial.state)},
                              {"tags", Json::array()},
                              {"user_id", experiment.user}})});
    files.push_back({run / "tags/mlflow.runName", name});
    files.push_back({run / "tags/mlflow.user", experiment.user});
    files.push_back({run / "tags/det.state", std::string(to_string(trial.state))});
    for (auto const& [path, value] : trial.hyperparameters)
        files.push_back({run / "params" / experiment.parameters.add({path}), parameter_text(value)});
    for (auto const& [metric, values] : trial.metrics)
        files.push_back({run / "metrics" / experiment.metrics.add(parts_of(metric)), series_text(values)});
    return files;
}

Status write_mlflow_export(experiment::OpenExperiment const& experiment, ExportPlace const& place,
                           Session& session) {
    auto const& record = experiment.view.record;
    MlflowExperiment store{experiment.id(), tracker::history::attributes_of(record).name, record.spec->owner,
                           record.spec->created, place.final};
    auto const directory = place.incomplete / std::to_string(store.id.value);
    DET_TRY(write_mlflow_file(directory, render_mlflow_experiment(store)));
    for (auto const& view : experiment.view.trials) {
        DET_TRY_ASSIGN(auto const trial, load_exported_trial(experiment, view));
        for (auto const& file : render_mlflow_run(trial, store)) DET_TRY(write_mlflow_file(directory, file));
        for (auto const* part : {"metrics", "params", "artifacts"})
            DET_TRY(make_directories(directory / trial.run_id / part));
    }
    say_renamed(store.metrics, "metric", session);
    say_renamed(store.parameters, "hyperparameter", session);
    return Ok{};
}

}  // namespace det::cli
