#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "protocol.hpp"

namespace det::bench {

/// The ranks of one contestant, asleep until they are to do something. Errors are exceptions that end the
/// benchmark.
class Team {
public:
    /// `command` starts all ranks (a launcher), or where `once_per_rank` one: DIRECTORY RANK SIZE are
    /// appended then.
    Team(std::string name, int ranks, std::vector<std::string> command, bool once_per_rank,
         std::string directory);
    ~Team();
    Team(Team const&) = delete;
    Team& operator=(Team const&) = delete;

    std::string const& name() const { return name_; }
    int ranks() const { return ranks_; }
    /// The time of one operation: the maximum over ranks of the mean of an iteration. Wrong results are an
    /// exception.
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
