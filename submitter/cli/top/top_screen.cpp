#include <det/foundation/count_text.hpp>
#include <det/foundation/local_time.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/protocol/json_or_null.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "experiment/live_line.hpp"
#include "output/output_style.hpp"
#include "output/value_text.hpp"
#include "top/running_trials.hpp"

namespace det::cli {
namespace {

constexpr std::size_t lines_around_trials = 4;  // title, header, rule, keys
constexpr std::size_t progress_columns = 20;
constexpr std::string_view top_keys = "q quit  j/k scroll  r read now";

std::string step_text(TrainingProgress const& training) {
    if (!training.step) return "";
    return training.steps_total ? fmt::format("{}/{}", *training.step, *training.steps_total)
                                : std::to_string(*training.step);
}

std::string progress_text(TrainingProgress const& training, bool has_bars) {
    if (!training.progress) return "";
    return has_bars ? render_progress_bar(*training.progress, progress_columns)
                    : fmt::format("{:.0f} %", std::floor(100 * *training.progress));
}

Json to_json(RunningTrial const& trial) {
    auto const& training = trial.training;
    Json metric = nullptr, gpu = nullptr;
    if (training.metric)
        metric = {{"name", training.metric->name},
                  {"value", number_to_json(training.metric->value)},
                  {"steps_completed", training.metric->steps_completed}};
    if (trial.gpus) gpu = {{"gpus", trial.gpus->gpus}, {"mean_percent", trial.gpus->mean_percent}};
    return {{"id", to_integer(trial.id)},
            {"name", to_string(trial.id)},
            {"experiment", trial.id.experiment.value},
            {"experiment_name", trial.experiment_name},
            {"state", to_string(trial.state)},
            {"nodes", trial.hosts},
            {"progress", json_or_null(training.progress)},
            {"step", json_or_null(training.step)},
            {"steps_total", json_or_null(training.steps_total)},
            {"steps_per_s", json_or_null(training.steps_per_s)},
            {"time_left_s", json_or_null(training.time_left_s)},
            {"metric", std::move(metric)},
            {"gpu_use", std::move(gpu)}};
}

std::string title_line(RunningTrials const& running) {
    return fmt::format("{}  {} with nodes, {} queued", format_local(running.read_at, "%H:%M:%S"),
                       count_text(running.trials.size(), "trial"), running.queued_trials);
}

std::vector<std::string> table_lines(TopView const& view, std::size_t columns) {
    std::vector<std::string> lines;
    auto const text = running_trials_table(view.running, true).render(columns, view.has_colour);
    for (auto const line : split_lines(text)) lines.emplace_back(line);
    return lines;
}

/// The row without "\x1b[31m" and the like. All other control bytes of a table are escaped.
std::string without_styles(std::string_view row) {
    std::string plain_row;
    while (!row.empty()) {
        auto const escape = std::min(row.find('\x1b'), row.size());
        plain_row += row.substr(0, escape);
        row.remove_prefix(escape);
        if (!row.empty()) row.remove_prefix(std::min(row.find('m'), row.size() - 1) + 1);
    }
    return plain_row;
}

}  // namespace

Json to_json(RunningTrials const& running) {
    auto trials = Json::array();
    for (auto const& trial : running.trials) trials.push_back(to_json(trial));
    return {{"time", format_utc(running.read_at)},
            {"queued_trials", running.queued_trials},
            {"trials", std::move(trials)}};
}

Table running_trials_table(RunningTrials const& running, bool has_bars) {
    Table table(
        {"Trial", "Name", "State", "Progress", "Step", "Steps/s", "Left", "Metric", "GPU Use", "Nodes"},
        {"Nodes", "Steps/s", "Step", "Name", "Left"});
    for (auto const& trial : running.trials) {
        auto const& training = trial.training;
        table.add(
            {to_string(trial.id), trial.experiment_name, std::string(to_string(trial.state)),
             progress_text(training, has_bars), step_text(training),
             training.steps_per_s ? fmt::format("{:.3g}", *training.steps_per_s) : "",
             training.time_left_s ? duration_text(*training.time_left_s) : "",
             training.metric ? fmt::format("{} {:.4g}", training.metric->name, training.metric->value) : "",
             trial.gpus ? fmt::format("{:.0f} % of {}", trial.gpus->mean_percent, trial.gpus->gpus) : "",
             trial.hosts});
    }
    return table;
}

std::vector<std::string> render_top(TopView& view, ScreenSize size) {
    std::vector<std::string> lines;
    auto const add = [&](std::string_view text, std::string_view style = "") {
        auto const line = fit_to_width(text, size.columns);
        lines.push_back(style.empty() ? line : fmt::format("{}{}{}", style, line, plain_style));
    };
    // A row of the table has the style of its state inside.
    auto const add_row = [&](std::string const& row) {
        auto const plain_row = without_styles(row);
        auto const width = display_width(plain_row);
        if (width > size.columns) return add(plain_row);
        lines.push_back(row + std::string(size.columns - width, ' '));
    };
    auto const table = table_lines(view, size.columns);
    auto const trials = view.running.trials.size();
    // A last line below the trials names the columns that are left out.
    auto const below = table.size() - std::min(table.size(), 2 + trials);
    auto const around = lines_around_trials + below;
    auto const rows = size.rows > around ? size.rows - around : 0;
    view.first_row = std::min(view.first_row, trials > rows ? trials - rows : 0);
    add(title_line(view.running), bold_style);
    for (std::size_t i = 0; i < 2 && i < table.size(); ++i) add(table[i]);
    auto const end = std::min(trials, view.first_row + rows);
    for (auto i = view.first_row; i < end; ++i) add_row(table[2 + i]);
    if (trials == 0) add("no trials run now");
    for (std::size_t i = 0; i < below; ++i) add(table[2 + trials + i]);
    while (lines.size() + 1 < size.rows) add("");
    lines.resize(std::max<std::size_t>(size.rows, 1) - 1);
    auto const more = rows > 0 && trials > rows
                          ? fmt::format("  trials {} to {} of {}", view.first_row + 1, end, trials)
                          : "";
    add(view.message.empty() ? std::string(top_keys) + more : escape_control(view.message));
    return lines;
}

}  // namespace det::cli
