#include <det/experiment/load_config.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "config/standard_input.hpp"

namespace det::cli {
namespace {

/// Renders the document as YAML with a comment on each value that names its origin: "exp.yaml:3",
/// "template mpi:2", "--config max_restarts", "default". Pure.
std::string explain_config(yaml::Node const& document, std::optional<std::string> const& template_name,
                           std::optional<std::string> const& template_file) {
    auto const origin = [&](yaml::Node const& value) -> std::string {
        auto const& location = value.location();
        if (!location.is_written() || location.source->name() == "defaults") return "default";
        // Leaves out the value that was typed with --config: it may be a secret.
        if (location.source->name() == "--config") {
            auto const& typed = location.source->text();
            return "--config " + typed.substr(0, typed.find('='));
        }
        bool const is_template = template_file && location.source->name() == *template_file;
        auto const file = is_template ? "template " + template_name.value_or("") : location.source->name();
        return fmt::format("{}:{}", file, location.line);
    };
    return yaml::render_yaml(document, origin);
}

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
        DET_TRY(take_standard_input(sources, session));
        DET_TRY_ASSIGN(sources.shared_templates,
                       experiment::find_shared_templates(session.environment, site));
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
        session.answer(yaml::to_json(shown), (explain_ ? explain_config(shown, template_, template_file)
                                                       : yaml::render_yaml(shown)));
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
