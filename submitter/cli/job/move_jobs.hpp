#pragma once
#include <optional>
#include <string>
#include <vector>

#include "job/move_requests.hpp"

namespace det::cli {

struct MoveOptions {
    bool is_dry_run = false;
    std::optional<std::string> rights;  // "owner", "operator"; nothing: operator for root and SlurmUser
};

/// Plans all moves, or reports the errors of all requests. Unless it is a dry run, makes the moves, reads the
/// queue again and corrects the order, up to three times; codes::no_legal_move if the queue is still not as
/// requested. Prints the moves and the resulting order.
Outcome move_jobs(std::vector<MoveRequest> const& items, MoveOptions const& options, Session& session);

}  // namespace det::cli
