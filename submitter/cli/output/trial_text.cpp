#include "output/trial_text.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/run_shape.hpp>
#include <det/sampler/load_draw.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "logs/log_line.hpp"

namespace det::cli {
namespace {

std::string describe_run(lifecycle::RunView const& run) {
    if (!run.ended) return "its end is not recorded yet";
    return fmt::format("{} ({})", run.ended->message, run.ended->cause_name());
}

std::vector<std::string> run_row(lifecycle::RunView const& run, std::size_t number,
                                 TimeText const& time_text) {
    auto const started = run.started.value_or(RunStarted{});
    auto const slots = slots_of(started);
    return {std::to_string(number),
            run.started ? time_text(started.time) : "",
            run.ended ? time_text(run.ended->time) : "",
            started.hosts,
            slots ? std::to_string(*slots) : "",
            std::to_string(started.steps_completed),
            describe_run(run)};
}

std::string describe_job(std::optional<slurm::JobStatus> const& job) {
    if (!job) return "not in Slurm's queue";
    auto const reason = job->reason.empty() || job->reason == "None" ? "" : ", " + job->reason;
    return escape_control(fmt::format("job {}: {}{}", slurm::to_string(job->ref), job->state_text, reason));
}

void append_values(std::string& text, std::string const& path, Json const& value,
                   NumberText const& number_text) {
    if (value.is_object()) {
        for (auto const& [name, inner] : value.items())
            append_values(text, path.empty() ? name : path + "." + name, inner, number_text);
        return;
    }
    if (!text.empty()) text += ' ';
    text += path + '=' +
            (number_text.is_for_people() && value.is_number_float() ? number_text(value) : to_line(value));
}

}  // namespace

std::string trial_headline(tracker::history::TrialView const& trial) {
    return fmt::format("Trial {}: {}, {}\n", to_string(trial.record.id), to_string(trial.state),
                       describe_job(trial.job));
}

std::string runs_table(tracker::history::TrialView const& trial, AnswerStyle const& style) {
    if (trial.record.runs.empty()) return "";
    Table runs({"Run", "Started", "Ended", "Nodes", "Slots", "From step", "How it ended"},
               {"Slots", "From step", "Nodes"});
    for (std::size_t number = 0; number < trial.record.runs.size(); ++number)
        runs.add(run_row(trial.record.runs[number], number, style.time));
    return runs.render(style);
}

Table all_runs_table(std::span<tracker::history::TrialView const> trials) {
    Table table({"Trial", "State", "Run", "Started", "Ended", "Nodes", "Slots", "From step", "How it ended"});
    for (auto const& trial : trials) {
        for (std::size_t number = 0; number < trial.record.runs.size(); ++number) {
            auto row = run_row(trial.record.runs[number], number, TimeText());
            row.insert(row.begin(), {to_string(trial.record.id), std::string(to_string(trial.state))});
            table.add(std::move(row));
        }
    }
    return table;
}

std::string interruptions_table(std::vector<tracker::history::Interruption> const& interruptions,
                                AnswerStyle const& style) {
    if (interruptions.empty()) return "";
    Table table({"Run", "Notice", "Acknowledged", "Saved", "Ended", "Queued", "Started", "Trained"},
                {"Acknowledged", "Saved", "Queued"});
    for (auto const& interruption : interruptions) {
        // An interruption without a notice: its times are relative to the end of the run.
        auto const begin = interruption.noticed ? interruption.noticed : interruption.ended;
        auto const after = [&](std::optional<UtcTime> const& time) {
            if (!time) return std::string();
            return fmt::format("{:+.1f} s",
                               static_cast<double>(time->microseconds - begin->microseconds) / 1e6);
        };
        table.add({std::to_string(interruption.run), style.time(interruption.noticed),
                   after(interruption.acknowledged), after(interruption.saved), after(interruption.ended),
                   after(interruption.queued), after(interruption.started), after(interruption.trained)});
    }
    return '\n' + table.render(style);
}

std::map<std::string, int> ends_by_cause(tracker::history::TrialView const& trial) {
    std::map<std::string, int> ends;
    for (auto const& run : trial.record.runs) {
        if (run.ended) ++ends[std::string(run.ended->cause_name())];
    }
    return ends;
}

std::string ends_text(tracker::history::TrialView const& trial) {
    std::vector<std::string> parts;
    for (auto const& [cause, count] : ends_by_cause(trial))
        parts.push_back(fmt::format("{} {}", count, escape_control(cause)));
    return parts.empty() ? "" : fmt::format("Ends: {}\n", join(parts, ", "));
}

std::vector<std::string> end_of_output(std::string const& output, std::size_t lines_max) {
    std::vector<std::string> lines;
    for (auto const line : split_lines(output)) lines.emplace_back(line);
    auto const last = std::find_if(lines.rbegin(), lines.rend(), [](auto const& line) {
        return line.find("Traceback (most recent call last)") != std::string::npos;
    });
    bool const has_traceback = last != lines.rend();
    if (has_traceback) lines.erase(lines.begin(), last.base() - 1);
    if (lines.size() <= lines_max) return lines;
    std::vector<std::string> end;
    if (has_traceback && lines_max > 2) end = {lines.front(), "..."};
    end.insert(end.end(), lines.end() - static_cast<std::ptrdiff_t>(lines_max - end.size()), lines.end());
    return end;
}

std::string failure_text(RunId run, RankFailure const& failure, std::size_t lines_max) {
    auto text = fmt::format("\nRun {}: {}\n", run.number, det::describe(failure));
    for (auto const& line : end_of_output(failure.last_output, lines_max))
        text += fmt::format("    {}\n", escape_control_except_tabs(line));
    auto const rank = failure.rank ? fmt::format(" --rank {}", *failure.rank) : "";
    return text + fmt::format("The whole log: det-submit trial logs {} --run {}{}\n", to_string(run.trial),
                              run.number, rank);
}

Json hyperparameters_of(ExperimentLayout const& experiment, ExperimentSpec const& spec, std::uint32_t trial) {
    auto const draw = sampler::load_draw(experiment, spec, trial);
    return draw ? *draw->hyperparameters : Json::object();
}

std::string describe_hyperparameters(Json const& hyperparameters, NumberText const& number_text) {
    std::string text;
    append_values(text, "", hyperparameters, number_text);
    return text;
}

}  // namespace det::cli
