#include <det/experiment/template_store.hpp>
#include <det/experiment/template_text.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

class TemplateDescribe final : public Command {
public:
    std::vector<Option> options() override { return {{"name", &name_, "the template", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const store, experiment::TemplateStore::open(session.environment));
        DET_TRY_ASSIGN(auto found, store.load(name_));
        auto const& file = found.file;
        DET_TRY_ASSIGN(auto const contents,
                       experiment::check_template(std::move(found.text), file.path.string()));
        session.answer(Json{{"name", file.name},
                            {"path", file.path.string()},
                            {"shipped", file.is_shipped()},
                            {"config", yaml::to_json(config::mask_secrets(contents.document))}},
                       experiment::shown_text(contents));
        print(session.err, contents.warnings, session.style);
        return ExitCode::done;
    }

private:
    std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_template_describe() { return std::make_unique<TemplateDescribe>(); }

}  // namespace det::cli
