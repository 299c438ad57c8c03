#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/search/trial_search.hpp>

namespace det::launch::supervisor {

/// Stores the entries of the search's rungs as file names, below rungs/ of the experiment.
class RungDirectory final : public search::RungStore {
public:
    explicit RungDirectory(ExperimentLayout experiment) : experiment_(std::move(experiment)) {}

    Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;
    Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const override;
    Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override;

private:
    ExperimentLayout experiment_;
};

}  // namespace det::launch::supervisor
