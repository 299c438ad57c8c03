#include "logs/logs_command.hpp"

namespace det::cli {

std::unique_ptr<Command> make_trial_logs() { return std::make_unique<LogsCommand>(LogsOf::trial); }

}  // namespace det::cli
