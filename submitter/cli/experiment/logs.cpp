#include "logs/logs_command.hpp"

namespace det::cli {

std::unique_ptr<Command> make_experiment_logs() { return std::make_unique<LogsCommand>(LogsOf::experiment); }

}  // namespace det::cli
