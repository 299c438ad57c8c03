#include "experiment/live_line.hpp"

#include <det/foundation/local_time.hpp>
#include <det/foundation/text.hpp>
#include <det/queue/explain_reason.hpp>
#include <det/queue/order.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "output/table.hpp"
#include "output/value_text.hpp"

namespace det::cli {
namespace {

using lifecycle::State;
using slurm::JobStatus;

constexpr std::size_t bar_columns = 32;

/// Whether the partition lists "a,b" and "b,c" have a name in common.
bool share_partition(std::string_view a, std::string_view b) {
    auto const of_b = split(b, ',');
    return std::ranges::any_of(split(a, ','),
                               [&](auto const name) { return std::ranges::find(of_b, name) != of_b.end(); });
}

std::string state_in_words(LiveFacts const& facts) {
    switch (facts.state) {
        case State::submitting:
            return "is being submitted";
        case State::queued:
            return "is queued";
        case State::starting:
            return "is starting";
        case State::running:
            return "runs";
        case State::stopping_canceled:
            return "is being cancelled";
        case State::stopping_killed:
            return "is being ended";
        case State::paused:
            return fmt::format("is paused: 'det-submit experiment activate {}' resumes it", facts.id.value);
        case State::completed:
        case State::canceled:
        case State::error:
        case State::interrupted:
            break;
    }
    return fmt::format("is {}", to_string(facts.state));
}

/// "14:05" in local time, with the date if that is another day.
std::string local_clock(UtcTime time, UtcTime now) {
    constexpr char const* date = "%Y-%m-%d";
    bool const is_today = format_local(time, date) == format_local(now, date);
    return format_local(time, is_today ? "%H:%M" : "%Y-%m-%d %H:%M");
}

std::string position_text(QueuePlace const& place) {
    if (place.position == 0) return "";
    return fmt::format("position {} of {} in {}", place.position, place.waiting,
                       escape_control(place.partition));
}

std::string queue_text(QueuePlace const& place, UtcTime now) {
    std::vector<std::string> parts;
    if (auto position = position_text(place); !position.empty()) parts.push_back(std::move(position));
    if (!place.reason.empty()) parts.push_back(escape_control(place.reason));
    if (place.start.time) {
        auto const wait_s =
            static_cast<double>(place.start.time->microseconds - now.microseconds) / 1'000'000;
        parts.push_back(fmt::format("Slurm expects it to start at {} (in {})",
                                    local_clock(*place.start.time, now), duration_text(wait_s)));
    } else if (!place.start.unknown_because.empty()) {
        parts.push_back("start unknown: " + place.start.unknown_because);
    }
    return join(parts, "; ");
}

std::string metric_text(MetricFact const& metric) {
    auto const value = fmt::format("{} {:.4g}", escape_control(metric.name), metric.value);
    return metric.trial ? fmt::format("best {} (trial {})", value, to_string(*metric.trial)) : value;
}

std::string training_text(LiveFacts const& facts) {
    auto const& training = facts.training;
    std::vector<std::string> parts;
    if (facts.trials > 1)
        parts.push_back(fmt::format("{} of {} trials ended, {} running", facts.ended_trials, facts.trials,
                                    facts.running_trials));
    if (training.step)
        parts.push_back(training.steps_total
                            ? fmt::format("step {} of {}", *training.step, *training.steps_total)
                            : fmt::format("step {}", *training.step));
    if (training.steps_per_s) parts.push_back(fmt::format("{:.3g}/s", *training.steps_per_s));
    if (training.time_left_s) parts.push_back(duration_text(*training.time_left_s) + " left");
    if (training.metric) parts.push_back(metric_text(*training.metric));
    return join(parts, ", ");
}

std::string without_trailing_blanks(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

}  // namespace

std::optional<QueuePlace> find_queue_place(std::vector<JobStatus> const& jobs,
                                           std::span<std::uint32_t const> own, UtcTime now) {
    auto const found = std::ranges::find_if(jobs, [&](auto const& job) {
        return queue::is_waiting(job) && std::ranges::find(own, job.ref.job) != own.end();
    });
    if (found == jobs.end()) return std::nullopt;
    QueuePlace place{queue::explain_reason(found->reason), found->partition, 0, 0,
                     queue::StartEstimates(jobs, now).evaluate(found->start_time)};
    for (auto job = jobs.begin(); job != jobs.end(); ++job) {
        bool const is_before_or_behind = queue::is_waiting(*job) && !queue::is_held(*job) &&
                                         share_partition(job->partition, found->partition);
        if (!is_before_or_behind) continue;
        ++place.waiting;
        if (job == found) place.position = place.waiting;
    }
    return place;
}

std::string render_progress_bar(double progress, std::size_t columns) {
    auto const part = std::isnan(progress) ? 0.0 : std::clamp(progress, 0.0, 1.0);
    auto const width = std::max<std::size_t>(columns, 12) - 8;  // without the brackets and the figure
    auto const filled = static_cast<std::size_t>(part * static_cast<double>(width));
    return fmt::format("[{:#<{}}{:.<{}}] {:3.0f} %", "", filled, "", width - filled, std::floor(100 * part));
}

std::string live_line(LiveFacts const& facts, UtcTime now, std::size_t columns) {
    std::string line;
    bool const is_training = facts.state == State::running;
    if (is_training && facts.training.progress) {
        line = render_progress_bar(*facts.training.progress, bar_columns);
    } else {
        line = fmt::format("experiment {} {}", facts.id.value, state_in_words(facts));
        if (!facts.hosts.empty() && (is_training || facts.state == State::starting))
            line += " on " + escape_control(facts.hosts);
    }
    auto const text = is_training                                   ? training_text(facts)
                      : facts.state == State::queued && facts.place ? queue_text(*facts.place, now)
                                                                    : "";
    if (!text.empty()) line += (is_training && facts.training.progress ? "  " : ": ") + text;
    // A line that fills the last column would wrap on some terminals.
    return without_trailing_blanks(fit_to_width(line, std::max<std::size_t>(columns, 2) - 1));
}

std::string change_line(LiveFacts const& facts) {
    auto line = fmt::format("experiment {}: {}", facts.id.value, to_string(facts.state));
    if (facts.state != State::queued || !facts.place) return line;
    auto const& place = *facts.place;
    if (!place.reason.empty()) line += ", " + escape_control(place.reason);
    if (auto const position = position_text(place); !position.empty()) line += " (" + position + ")";
    if (place.start.time)
        line += fmt::format("; Slurm expects it to start at {}", short_time(place.start.time));
    return line;
}

std::string result_line(LiveFacts const& facts, std::optional<double> duration_s) {
    auto line = fmt::format("experiment {}: {}", facts.id.value, to_string(facts.state));
    if (duration_s) line += " in " + duration_text(*duration_s);
    if (facts.training.metric)
        line += fmt::format(", {} at step {}", metric_text(*facts.training.metric),
                            facts.training.metric->steps_completed);
    return line;
}

std::string interrupt_text(ExperimentId id, std::string const& command) {
    return fmt::format(
        "experiment {0} goes on without this command; follow it again with 'det-submit {1}', end it with "
        "'det-submit stop {0}'",
        id.value, command);
}

}  // namespace det::cli
