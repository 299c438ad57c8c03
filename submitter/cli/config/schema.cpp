#include <det/config/key_reference.hpp>
#include <det/protocol/json.hpp>

#include <ostream>

#include "command.hpp"

namespace det::cli {
namespace {

/// Prints the JSON schema of configurations. The output is JSON also without --json.
class ConfigSchema final : public Command {
public:
    std::vector<Option> options() override {
        return {
            {"--complete", &complete_, "of the complete configuration, as 'config show --json' prints it"}};
    }

    Outcome run(Session& session) override {
        using config::SchemaFor;
        session.out << config::render_json_schema(complete_ ? SchemaFor::complete : SchemaFor::user_files);
        return ExitCode::done;
    }

private:
    bool complete_ = false;
};

}  // namespace

std::unique_ptr<Command> make_config_schema() { return std::make_unique<ConfigSchema>(); }

}  // namespace det::cli
