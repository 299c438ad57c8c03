#include "experiment/export_wandb.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json_number.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>

#include "experiment/export_formats.hpp"
#include "help_pages.hpp"

// The files that `wandb sync` reads have no published description, and wandb's programs are the only ones
// that write them. So the export is a script, which calls wandb's documented functions, and its data.
namespace det::cli {
namespace {

/// wandb refuses names of projects with /, \, #, ?, % or :, and longer ones.
std::string wandb_project(std::string_view name) {
    constexpr std::size_t limit_bytes = 100;
    std::string project;
    for (char const c : name.substr(0, limit_bytes)) {
        bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '_' || c == '.';
        project += is_plain ? c : '_';
    }
    return project.empty() ? "det-submit" : project;
}

/// wandb shows a run as finished for 0, as crashed or failed for others.
int wandb_exit_code(lifecycle::State state) {
    bool const has_failed = state == lifecycle::State::error || state == lifecycle::State::interrupted;
    return has_failed ? 1 : 0;
}

constexpr char const* time_metric = "time_s";  // when the step was reported, in seconds since 1970

struct WandbStep {
    UtcTime time;  // of the last report
    Json values = Json::object();
};

std::string wandb_metric(ExportedMetric const& metric) {
    auto const rank = metric.rank.value == 0 ? "" : fmt::format(" [rank={}]", metric.rank.value);
    return fmt::format("{}/{}{}", metric.group, metric.name, rank);
}

}  // namespace

std::string render_wandb_lines(ExportedTrial const& trial, WandbExperiment const& experiment) {
    auto tags = Json::array();
    for (auto const& label : experiment.labels) tags.push_back(label);
    auto config = Json::object();
    for (auto const& [path, value] : trial.hyperparameters) config[path] = value;
    auto text = to_line(Json{{"id", trial.run_id},
                             {"name", "trial " + to_string(trial.id)},
                             {"project", wandb_project(experiment.name)},
                             {"group", fmt::format("experiment {}", experiment.id.value)},
                             {"notes", experiment.description},
                             {"tags", std::move(tags)},
                             {"config", std::move(config)},
                             {"state", to_string(trial.state)},
                             {"exit_code", wandb_exit_code(trial.state)}}) +
                '\n';
    std::map<std::uint64_t, WandbStep> steps;
    for (auto const& [metric, values] : trial.metrics) {
        for (auto const& value : values) {
            auto& step = steps[value.steps_completed];
            step.values[wandb_metric(metric)] = number_to_json(value.value);
            step.time = std::max(step.time, value.time);
        }
    }
    for (auto& [number, step] : steps) {
        step.values[time_metric] = static_cast<double>(step.time.microseconds) / 1e6;
        text += to_line(Json{{"step", number}, {"values", std::move(step.values)}}) + '\n';
    }
    return text;
}

Status write_wandb_export(experiment::OpenExperiment const& experiment, ExportPlace const& place, Session&) {
    auto const attributes = tracker::history::attributes_of(experiment.view.record);
    WandbExperiment const common{experiment.id(), attributes.name, attributes.description, attributes.labels};
    DET_TRY(write_file(place.incomplete / "import.py", find_page("experiment/export_wandb.py"), 0700));
    auto const path = place.incomplete / "experiment.jsonl";
    UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create '{}'", path.string()), errno);
    for (auto const& view : experiment.view.trials) {
        DET_TRY_ASSIGN(auto const trial, load_exported_trial(experiment, view));
        DET_TRY(write_all(file.get(), render_wandb_lines(trial, common), path.string()));
    }
    return Ok{};
}

}  // namespace det::cli
