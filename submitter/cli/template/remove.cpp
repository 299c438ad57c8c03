#include <det/experiment/template_store.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "command.hpp"

namespace det::cli {
namespace {

class TemplateRemove final : public Command {
public:
    std::vector<Option> options() override { return {{"name", &name_, "the template", Need::required}}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const store, experiment::TemplateStore::open(session.environment));
        DET_TRY_ASSIGN(auto const removed, store.remove(name_));
        session.answer(Json{{"name", removed.name}, {"path", removed.path.string()}},
                       fmt::format("Removed template {}\n", removed.name));
        return ExitCode::done;
    }

private:
    std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_template_remove() { return std::make_unique<TemplateRemove>(); }

}  // namespace det::cli
