#include <det/experiment/open_experiment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/export/export.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"

namespace det::tracker::program {
namespace {

/// Updates the experiments in the index, which no other process writes as long as the lock is held.
Status refresh_index(Tracker const& tracker, std::vector<ExperimentId> const& ids) {
    DET_TRY_ASSIGN(auto index, ingest::open_or_rebuild_index(tracker.paths.index(), tracker.root));
    ingest::Ingester ingester(std::move(index), tracker.root);
    for (auto const id : ids) DET_TRY(ingester.refresh(id, {}));
    return Ok{};
}

/// Opens the records of the experiments as they are now: in the index, or in the journals while another process
/// writes the index.
Result<std::unique_ptr<history::History>> open_current_history(Tracker const& tracker,
                                                               std::vector<ExperimentId> const& ids) {
    using Opened = std::unique_ptr<history::History>;
    DET_TRY_ASSIGN(auto const lock, client::TrackerLock::try_take(tracker.paths));
    if (!lock) return Opened(std::make_unique<history::JournalHistory>(tracker.root));
    DET_TRY(refresh_index(tracker, ids));
    auto const& root = tracker.root.path();
    DET_TRY_ASSIGN(auto index, index::open_index(tracker.paths.index(), root, index::Access::read));
    return Opened(std::make_unique<index::IndexHistory>(std::move(index), root));
}

/// The trials that an id means: "7.0" is one, "7" all of the experiment.
Result<std::vector<TrialId>> list_trials(history::History& history, std::string const& text) {
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

class Export final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &ids_, "the experiments or trials", command_line::Need::required},
                {"--format",
                 &format_,
                 "csv, jsonl or tensorboard",
                 command_line::Need::optional,
                 {"csv", "jsonl", "tensorboard"}},
                {"--output", &output_, "the file, or the directory of the event files"},
                {"--all-runs", &options_.all_runs, "also the reports that a later run superseded"}};
    }

    Outcome run(Session& session) override {
        if (format_ == "tensorboard" && !output_)
            return Error{codes::usage, "--format tensorboard needs --output DIRECTORY"};
        if (session.wants_json)
            return Error{codes::usage, "--json is not for export", "use '--format jsonl'"};
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session.environment));
        std::vector<ExperimentId> experiments;
        for (auto const& text : ids_) {
            DET_TRY_ASSIGN(auto const id, experiment_of(text));
            experiments.push_back(id);
        }
        DET_TRY_ASSIGN(auto const history, open_current_history(tracker, experiments));
        std::vector<TrialId> trials;
        for (auto const& text : ids_) {
            DET_TRY_ASSIGN(auto const some, list_trials(*history, text));
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

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace det::tracker::program
