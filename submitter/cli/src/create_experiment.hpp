#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "creation.hpp"
#include "session.hpp"

namespace det::cli {

struct CreatedExperiment {
    ExperimentId id;
    std::vector<std::uint32_t> jobs;  // its arrays
    std::filesystem::path path;
    std::string start_estimate = {};  // local time, as Slurm wrote it; empty where it gave none
};

/// The creation protocol: a directory of its own by mkdir, filled; the job submitted held; the `created`
/// event with its id; only then released. What fails before Slurm has a job leaves no experiment behind; a
/// crash after it leaves held jobs and an experiment that is listed as SUBMITTING. Code that was packed
/// stays: another experiment may refer to it by now, and the next attempt finds it.
Result<CreatedExperiment, Diagnostics> create_experiment(Creation const& creation, Session& session);

}  // namespace det::cli
