#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "live_round.hpp"

namespace det::faults {

/// The results of a campaign: one JSON object a line, which is only ever appended. Thread-safe.
class ResultsFile {
public:
    explicit ResultsFile(std::filesystem::path path) : path_(std::move(path)) {}

    /// The seeds of the rounds of a release of Slurm that the file has.
    Result<std::set<std::uint32_t>> seeds_of(std::string const& release) const;
    Status append(Json const& round);
    std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
    std::mutex mutex_;
};

/// The line of a round. `failure` is "" if all verdicts are as they should be.
Json describe_round(RoundPlan const& plan, std::string const& release, Observation const& observation,
                    std::map<std::string, std::string> const& verdicts, std::string const& causes,
                    std::chrono::seconds took);
/// The line of a round that could not be played to its end.
Json describe_broken_round(RoundPlan const& plan, std::string const& release, std::string const& error);
/// The lines of a results file, without a torn one at its end.
std::vector<Json> read_rounds(std::filesystem::path const& file);
bool has_passed(Json const& round);

/// The number of rounds and failed verdicts for each kind, release and fault, as tables in Markdown. Rounds
/// that measure costs are left out.
std::string summarise(std::filesystem::path const& file);

}  // namespace det::faults
