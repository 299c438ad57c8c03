#include <det/experiment/open_experiment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/export.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

/// The trials that an id means: "7.0" is one, "7" all of the experiment.
Result<std::vector<TrialId>> trials_named_by(history::History& history, std::string const& text) {
    auto const experiment = parse_experiment_id(text);
    if (!experiment) {
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial_id(text));
        return std::vector{trial};
    }
    DET_TRY_ASSIGN(auto const record, history.load_experiment(*experiment));
    std::vector<TrialId> trials;
    for (auto const& trial : record.trials) trials.push_back(trial.id);
    return trials;
}

Result<ExperimentId> experiment_of(std::string const& text) {
    if (auto const experiment = parse_experiment_id(text)) return *experiment;
    DET_TRY_ASSIGN(auto const trial, experiment::require_trial_id(text));
    return trial.experiment;
}

class TrackerExport final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the experiments or trials", Need::required},
                {"--format",
                 &format_,
                 "csv, jsonl or tensorboard",
                 Need::optional,
                 {"csv", "jsonl", "tensorboard"}},
                {"--output", &output_, "the file, or the directory of the event files"},
                {"--all-runs", &options_.all_runs, "also the reports that a later run superseded"}};
    }

    Outcome run(Session& session) override {
        if (format_ == "tensorboard" && !output_)
            return Error{codes::usage, "--format tensorboard needs --output DIRECTORY"};
        if (session.wants_json())
            return Error{codes::usage, "--json is not for export", "use '--format jsonl'"};
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        std::vector<ExperimentId> experiments;
        for (auto const& text : ids_) {
            DET_TRY_ASSIGN(auto const id, experiment_of(text));
            experiments.push_back(id);
        }
        DET_TRY_ASSIGN(auto const history, open_current_history(tracker, experiments));
        std::vector<TrialId> trials;
        for (auto const& text : ids_) {
            DET_TRY_ASSIGN(auto const some, trials_named_by(*history, text));
            trials.insert(trials.end(), some.begin(), some.end());
        }
        DET_TRY(write(*history, trials, session));
        return ExitCode::done;
    }

private:
    Status write(history::History& history, std::vector<TrialId> const& trials, Session& session) const {
        if (format_ == "tensorboard") return export_event_files(history, trials, options_, *output_);
        auto const& export_text = format_ == "csv" ? export_csv : export_json_lines;
        if (output_) return write_file_with(export_text, history, trials);
        return export_text(history, trials, options_, [&](std::string_view text) -> Status {
            session.out << text;
            session.out.flush();
            if (!session.out) return Error{codes::file_system, "cannot write to the standard output"};
            return Ok{};
        });
    }

    template <class ExportText>
    Status write_file_with(ExportText const& export_text, history::History& history,
                           std::vector<TrialId> const& trials) const {
        UniqueFd const file(::open(output_->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        if (!file) return os_error(fmt::format("create '{}'", *output_), errno);
        return export_text(history, trials, options_,
                           [&](std::string_view text) { return write_all(file.get(), text, *output_); });
    }

    std::vector<std::string> ids_;
    std::string format_ = "csv";
    std::optional<std::string> output_;
    ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_tracker_export() { return std::make_unique<TrackerExport>(); }

}  // namespace det::cli
