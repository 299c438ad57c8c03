#pragma once
#include <string>
#include <vector>

#include "command.hpp"

namespace det::cli {

/// One change as it is written: ID.OPERATION=VALUE.
struct JobUpdateItem {
    std::string id, operation, value;
};

struct UpdateOptions {
    bool is_dry_run = false;
    std::optional<std::string> rights;  // "owner", "operator"; nothing: operator for root and SlurmUser
};

/// Plans all of it, or tells everything that is wrong with it; then makes the moves, reads the queue again
/// and corrects, until it is as asked for. Prints the moves and the order they give.
Outcome update_jobs(std::vector<JobUpdateItem> const& items, UpdateOptions const& options, Session& session);

}  // namespace det::cli
