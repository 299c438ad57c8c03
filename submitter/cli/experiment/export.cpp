#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>
#include <system_error>

#include "command.hpp"
#include "experiment/export_directory.hpp"
#include "experiment/export_formats.hpp"
#include "experiment/export_page.hpp"

namespace det::cli {
namespace {

class ExperimentExport final : public Command {
public:
    std::vector<Option> options() override {
        std::vector<Option> options{{"id", &id_, "the experiment", Need::required},
                                    {"--html", &file_, "the file to write"}};
        auto const formats = export_formats();
        directories_.resize(formats.size());
        for (std::size_t i = 0; i < formats.size(); ++i)
            options.push_back(
                {fmt::format("--{}", formats[i].name), &directories_[i], std::string(formats[i].help)});
        return options;
    }

    Outcome run(Session& session) override {
        std::size_t wanted = 0;
        if (file_) ++wanted;
        for (auto const& directory : directories_)
            if (directory) ++wanted;
        if (wanted != 1) {
            return Error{codes::usage, fmt::format("one of the options --html{} is needed", format_options()),
                         "it names the file or directory to write"};
        }
        if (file_) DET_TRY(write_page(session));
        for (std::size_t i = 0; i < directories_.size(); ++i)
            if (directories_[i]) DET_TRY(write_directory(export_formats()[i], *directories_[i], session));
        return ExitCode::done;
    }

private:
    static std::string format_options() {
        std::string text;
        for (auto const& format : export_formats()) text += fmt::format(", --{}", format.name);
        return text;
    }

    Status write_page(Session& session) const {
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const html, render_experiment_page(session, id));
        DET_TRY(write_file(*file_, html));
        session.answer(Json{{"file", *file_}, {"size_bytes", html.size()}},
                       fmt::format("wrote '{}', {} bytes\n", *file_, html.size()));
        return Ok{};
    }

    /// The absolute path of a directory that may not exist yet.
    static Result<std::filesystem::path> resolve_directory(std::string const& directory) {
        std::error_code problem;
        auto path = std::filesystem::absolute(directory, problem);
        if (!problem) path = std::filesystem::weakly_canonical(path, problem);
        if (problem) return os_error(fmt::format("find the directory '{}'", directory), problem.value());
        return path;
    }

    Status write_directory(ExportFormat const& format, std::string const& directory, Session& session) const {
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(id_, experiment::SlurmAnswer::optional, session));
        auto const id = experiment.id();
        if (!experiment.view.record.spec) {
            return Error{
                codes::wrong_state,
                fmt::format("experiment {} can't be exported: its creation was interrupted", id.value)};
        }
        Json const mark{{"experiment", id.value},
                        {"format", format.name},
                        {"root", experiment::root_id(experiment.root)}};
        DET_TRY_ASSIGN(auto const final, resolve_directory(directory));
        DET_TRY(fill_export_directory(final, mark, [&](std::filesystem::path const& incomplete) {
            return format.write(experiment, {incomplete, final}, session);
        }));
        auto const trials = experiment.view.trials.size();
        session.answer(
            Json{{"directory", directory}, {"format", format.name}, {"trials", trials}},
            fmt::format("wrote {} trial{} into '{}'\n", trials, trials == 1 ? "" : "s", directory));
        return Ok{};
    }

    std::string id_;
    std::optional<std::string> file_;
    std::vector<std::optional<std::string>> directories_;  // by the index of the format
};

}  // namespace

std::unique_ptr<Command> make_experiment_export() { return std::make_unique<ExperimentExport>(); }

}  // namespace det::cli
