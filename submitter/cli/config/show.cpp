#include <det/config/explain_config.hpp>
#include <det/experiment/load_config.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <ostream>

#include "command.hpp"
#include "config/standard_input.hpp"

namespace det::cli {
namespace {

class ConfigShow final : public Command {
public:
    std::vector<Option> options() override {
        return {{"config", &file_, "the configuration file", Need::required},
                {"--template", &template_, "a configuration template"},
                {"--config", &overrides_, "key=value, overrides the file"},
                {"--sanity", &sanity_, "only written values, without defaults; required keys may be missing"},
                {"--complete", &complete_, "with defaults; missing keys are errors (the default)"},
                {"--explain", &explain_, "add the origin of each value as a comment"}};
    }

    Outcome run(Session& session) override {
        if (sanity_ && complete_)
            return Error{codes::usage, "--sanity and --complete exclude each other", "use one of them"};
        DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
        DET_TRY_ASSIGN(auto const site, experiment::load_site_file(session.environment));
        experiment::ConfigSources sources{file_, template_, overrides_, &site,
                                          experiment::find_default_pools_of(site, session)};
        sources.sbatch_variables = config::parse_sbatch_variables(
            [&](std::string_view name) { return session.environment.find(name); });
        DET_TRY(read_config_if_stdin(sources, session));
        DET_TRY_ASSIGN(sources.shared_template_directories,
                       experiment::find_shared_template_directories(session.environment, site));
        if (sanity_) {
            DET_TRY_ASSIGN(auto merged, experiment::merge_config(sources, root));
            return show(merged.document, merged.template_file, merged.warnings, session);
        }
        DET_TRY_ASSIGN(auto loaded, experiment::load_config(sources, root, session.clock.now()));
        return show(loaded.config.effective, loaded.template_file, loaded.warnings, session);
    }

private:
    Outcome show(yaml::Node const& document, std::optional<std::string> const& template_file,
                 Diagnostics const& warnings, Session& session) const {
        auto const shown = config::mask_secrets(document);
        auto const used = template_file
                              ? std::optional(config::NamedTemplate{*template_file, template_.value_or("")})
                              : std::nullopt;
        session.answer(yaml::to_json(shown),
                       explain_ ? config::explain_config(shown, used) : yaml::render_yaml(shown));
        print(session.err, warnings, session.style);
        return ExitCode::done;
    }

    std::string file_;
    std::optional<std::string> template_;
    std::vector<std::string> overrides_;
    bool sanity_ = false, complete_ = false, explain_ = false;
};

}  // namespace

std::unique_ptr<Command> make_config_show() { return std::make_unique<ConfigShow>(); }

}  // namespace det::cli
