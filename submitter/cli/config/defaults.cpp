#include <det/config/key_reference.hpp>
#include <det/config/layers.hpp>
#include <det/protocol/json.hpp>
#include <det/yaml/render.hpp>

#include "command.hpp"

namespace det::cli {
namespace {

class ConfigDefaults final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        session.answer(yaml::to_json(config::add_defaults({})), config::render_defaults());
        return ExitCode::done;
    }
};

}  // namespace

std::unique_ptr<Command> make_config_defaults() { return std::make_unique<ConfigDefaults>(); }

}  // namespace det::cli
