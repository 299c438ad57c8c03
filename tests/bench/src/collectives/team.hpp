#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "protocol.hpp"

namespace det::bench {

/// The rank processes of one contestant. They block between commands. Errors are exceptions, which end the
/// benchmark.
class Team {
public:
    /// \param command starts all ranks (a launcher). With `once_per_rank` it starts one rank and gets the
    ///     further arguments DIRECTORY RANK SIZE.
    Team(std::string name, int ranks, std::vector<std::string> command, bool once_per_rank,
         std::string directory);
    ~Team();
    Team(Team const&) = delete;
    Team& operator=(Team const&) = delete;

    std::string const& name() const { return name_; }
    int ranks() const { return ranks_; }
    /// Returns the seconds of one operation: the mean over the iterations, and the maximum over the ranks.
    /// Throws if a result is wrong.
    double run(Sample const& sample);

private:
    void start(std::vector<std::string> command);

    std::string name_;
    int ranks_;
    std::string directory_;
    std::vector<int> in_, out_;
    std::vector<pid_t> pids_;
};

}  // namespace det::bench
