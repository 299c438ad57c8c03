#pragma once
#include <det/launch/supervisor/assignment.hpp>

#include <optional>
#include <set>
#include <vector>

namespace det::launch::supervisor {

/// Which trials this job runs. One that has its nodes for itself runs the trial of its array task; where
/// trials share a node, those that it claims: trials/N/claimed is made by link(2) and names the task.
class Claims {
public:
    explicit Claims(Assignment const& assignment)
        : assignment_(assignment), has_claims_of_before_(assignment.incarnation.restart_count > 0) {}

    /// A trial that nobody else runs, and that the user wants: first those that this task had claimed before
    /// it was requeued, then free ones from its own place in the array on. Nothing where none is left.
    Result<std::optional<std::uint32_t>> take_next();
    /// Where trials share a node: another job, or this one, may take it later.
    Status give_back(std::uint32_t trial);
    /// The same for all of them that have not ended.
    Status give_back_all();

private:
    Result<std::optional<std::uint32_t>> take_assigned();
    Result<std::optional<std::uint32_t>> take_free();
    Result<std::vector<std::uint32_t>> find_own();

    Assignment const& assignment_;
    bool has_claims_of_before_;
    std::vector<std::uint32_t> own_;  // from before the requeue, still to be run
    std::set<std::uint32_t> taken_;   // by others, or by us
};

}  // namespace det::launch::supervisor
