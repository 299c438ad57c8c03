#pragma once
#include <det/config/experiment_config.hpp>
#include <det/pack/tree.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/desired.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <optional>
#include <string>

#include "session.hpp"

namespace det::cli {

/// Everything that an experiment is made of.
struct Creation {
    config::ExperimentConfig config;
    std::string written;        // the configuration as the user wrote it
    pack::ContextSources code;  // may be nothing
    plan::SubmissionPlan plan;
    RootLayout root;
    std::string job_template;
    std::filesystem::path det_launch;
    std::uint32_t array_size_max = 1001;         // Slurm's MaxArraySize
    std::optional<std::uint32_t> notice_s = {};  // from Slurm's notice to the end, where that is known
    Desired desired = Desired::run;              // pause: its jobs stay held until `experiment activate`
    std::optional<ExperimentId> parent = {};
    std::optional<ContextSpec> packed_code = {};  // in place of `code`: stored already
};

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

/// The script as it would be submitted, for --dry-run; the id is not known yet.
Result<std::string> preview_script(Creation const& creation);

}  // namespace det::cli
