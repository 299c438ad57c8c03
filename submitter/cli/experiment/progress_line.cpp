#include "experiment/progress_line.hpp"

#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/progress.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ostream>

#include "experiment/describe_search.hpp"

namespace det::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto read_interval = 5s;
constexpr std::size_t bar_columns = 40;

/// The progress of a search that stops trials is its own; of any other experiment, the mean over its trials.
Result<std::optional<double>> load_progress(tracker::history::ExperimentView const& view,
                                            tracker::history::History& history) {
    if (!view.record.spec || view.trials.empty()) return std::optional<double>();
    auto const& spec = *view.record.spec;
    DET_TRY_ASSIGN(auto const search, load_search_view(view, spec, history));
    if (search) return std::optional(search->progress);
    double sum = 0;
    bool is_known = false;
    for (auto const& trial : view.trials) {
        if (lifecycle::is_terminal(trial.state)) {
            is_known = true;
            sum += 1;
        } else if (!trial.record.runs.empty()) {
            DET_TRY_ASSIGN(auto const reports, history.load_reports_without_metrics(trial.record.id));
            auto const progress = tracker::history::progress_of_trial(reports, spec);
            is_known = is_known || progress;
            sum += progress.value_or(0);
        }
    }
    if (!is_known) return std::optional<double>();
    return std::optional(sum / static_cast<double>(view.trials.size()));
}

}  // namespace

std::string render_progress_bar(double progress, std::size_t columns) {
    auto const part = std::isnan(progress) ? 0.0 : std::clamp(progress, 0.0, 1.0);
    auto const width = std::max<std::size_t>(columns, 12) - 8;  // without the brackets and the figure
    auto const filled = static_cast<std::size_t>(part * static_cast<double>(width));
    return fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %", "", filled, "", width - filled, std::floor(100 * part));
}

ProgressLine::ProgressLine(RootLayout const& root, ExperimentId id, Session& session)
    : root_(root), id_(id), session_(session) {}

void ProgressLine::update() {
    if (session_.style.colour != Colour::always) return;
    auto const now = session_.clock.steady_now();
    if (!read_at_ || now - *read_at_ >= read_interval) {
        read_at_ = now;
        tracker::history::JournalHistory history(root_);
        auto record = history.load_experiment(id_);
        if (!record) return;
        auto const view = tracker::history::view_experiment(*std::move(record), {false, {}});
        auto const progress = load_progress(view, history);
        if (progress) progress_ = *progress;
    } else if (is_drawn_) {
        return;
    }
    if (!progress_) return;
    session_.err << "\r\x1b[K" << render_progress_bar(*progress_, bar_columns) << std::flush;
    is_drawn_ = true;
}

void ProgressLine::clear() {
    if (is_drawn_) session_.err << "\r\x1b[K" << std::flush;
    is_drawn_ = false;
}

}  // namespace det::cli
