#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/search/trial_search.hpp>

namespace det::launch::supervisor {

/// Stores the entries of the search's rungs as file names, below rungs/ of the experiment.
class RungDirectory final : public search::RungStore {
public:
    RungDirectory(ExperimentLayout experiment, search::AshaSearch const& search)
        : experiment_(std::move(experiment)), trial_count_(search.trial_count()), brackets_(search) {}

    Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;
    /// Leaves out the entries of planned trials of other brackets and of replacements that do not exist: no
    /// supervisor has written them.
    Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const override;
    Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;

private:
    bool has_trial(std::uint32_t bracket, std::uint32_t trial) const;

    ExperimentLayout experiment_;
    std::uint32_t trial_count_;  // trials from this number on are replacements
    search::BracketAssignment brackets_;
};

}  // namespace det::launch::supervisor
