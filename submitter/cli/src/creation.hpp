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

}  // namespace det::cli
