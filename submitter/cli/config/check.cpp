#include <det/experiment/load_config.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/nested_launchers.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <array>
#include <ostream>

#include "command.hpp"
#include "config/standard_input.hpp"
#include "output/problems_json.hpp"

namespace det::cli {
namespace {

class ConfigCheck final : public Command {
public:
    std::vector<Option> options() override {
        return {{"files", &files_, "configuration files", Need::required},
                {"--template", &template_, "a configuration template to merge below each"},
                {"--sanity", &sanity_, "only what is written: nothing has to be there"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const site, experiment::load_site_file(session.environment));
        Diagnostics found;
        auto answer = Json::array();
        for (auto const& file : files_) {
            experiment::ConfigSources sources{
                file, template_, {}, &site, experiment::find_default_pools_of(site, session)};
            sources.sbatch_variables = config::parse_sbatch_variables(
                [&](std::string_view name) { return session.environment.find(name); });
            DET_TRY(read_config_if_stdin(sources, session));
            DET_TRY_ASSIGN(sources.shared_template_directories,
                           experiment::find_shared_template_directories(session.environment, site));
            auto const problems = check(sources, root, session.clock.now());
            answer.push_back({{"file", file}, {"ok", !problems.has_errors()}});
            append_news(found, problems);
        }
        if (session.wants_json()) {
            session.answer(Json{{"files", std::move(answer)}, {"problems", problems_json(found)}});
        } else {
            for (auto const& row : answer) {
                if (row["ok"] == true) session.out << row["file"].get<std::string>() << ": ok\n";
            }
        }
        if (found.has_errors()) return found;
        print(session.err, found, session.style);
        return ExitCode::done;
    }

private:
    /// Finds the errors and warnings of a configuration that do not depend on Slurm; with --sanity only those
    /// of the written values.
    Diagnostics check(experiment::ConfigSources const& sources, RootLayout const& root, UtcTime now) const {
        if (sanity_) {
            auto merged = experiment::merge_config(sources, root);
            return merged ? std::move(merged->warnings) : std::move(merged).error();
        }
        DET_TRY_ASSIGN(auto loaded, experiment::load_config(sources, root, now));
        auto found = std::move(loaded.warnings);
        found.append(plan::check_supported(loaded.config));
        // A script starts its steps itself, once.
        if (loaded.config.slurm.launch == Launch::script) return found;
        // The code is the directory of the configuration, or the one from which it is submitted.
        experiment::warn_of_nested_launchers(
            loaded.config.entrypoint, std::array{sources.file.parent_path(), std::filesystem::path()}, found);
        return found;
    }

    /// Adds problems that are not in `found` yet: several files may share a template.
    static void append_news(Diagnostics& found, Diagnostics const& more) {
        auto const known = found.sorted();
        for (auto const& [severity, error] : more.sorted()) {
            bool const is_known =
                std::any_of(known.begin(), known.end(),
                            [&, &news = error](auto const& old) { return old.error == news; });
            if (is_known) continue;
            severity == Severity::error ? found.report(error) : found.warn(error);
        }
    }

    std::vector<std::string> files_;
    std::optional<std::string> template_;
    bool sanity_ = false;
};

}  // namespace

std::unique_ptr<Command> make_config_check() { return std::make_unique<ConfigCheck>(); }

}  // namespace det::cli
