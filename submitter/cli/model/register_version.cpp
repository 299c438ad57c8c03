#include <det/experiment/models.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "model/model_view.hpp"

namespace det::cli {
namespace {

class ModelRegisterVersion final : public Command {
public:
    std::vector<Option> options() override {
        return {{"model", &model_, "its name or id", Need::required},
                {"uuid", &uuid_, "the checkpoint", Need::required}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const registered, experiment::register_checkpoint(model_, uuid_, session));
        auto const& [model, version] = registered;
        session.print_confirmation(
            version_json(model, version),
            fmt::format("Registered checkpoint {} as version {} of the model '{}'", version.checkpoint.uuid,
                        version.number, escape_control(model.attributes.name)));
        return ExitCode::done;
    }

private:
    std::string model_, uuid_;
};

}  // namespace

std::unique_ptr<Command> make_model_register_version() { return std::make_unique<ModelRegisterVersion>(); }

}  // namespace det::cli
