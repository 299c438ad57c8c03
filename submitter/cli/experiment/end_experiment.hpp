#pragma once
#include <det/protocol/desired.hpp>

#include <string>

#include "command.hpp"
#include "open_experiment.hpp"
#include "tell_jobs.hpp"

namespace det::cli {

/// Records that an experiment or trial is to end, in its `desired` file. A stricter wish that is recorded
/// already stays.
Status record_desired_end(std::filesystem::path const& path, Desired wanted);

/// `experiment cancel` and `experiment kill`. The `desired` file is written before Slurm is told, so that a
/// supervisor that ends knows why.
class EndExperiment final : public Command {
public:
    explicit EndExperiment(Desired desired) : desired_(desired) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    Status end(Session& session) const;
    void answer(OpenExperiment const& experiment, std::vector<JobStep> const& steps, Session& session) const;

    Desired desired_;
    std::string id_;
};

}  // namespace det::cli
