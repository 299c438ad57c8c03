#pragma once
#include <det/experiment/code_permissions.hpp>
#include <det/experiment/context.hpp>
#include <det/experiment/load_config.hpp>
#include <det/experiment/source_checkpoint.hpp>
#include <det/foundation/trusted_path.hpp>
#include <det/pack/context_tree.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/staged_file.hpp>

namespace det::experiment {

/// The input of `experiment create` (also with --when), `fork` and `continue`.
struct SubmissionOptions {
    ConfigSources sources;
    pack::ContextSources code;
    std::optional<ContextSpec> packed_code;  // code that is stored already, in place of `code`
    std::optional<ExperimentId> parent;
    DesiredState desired = DesiredState::run;
    bool is_continuation = false;             // the experiment exists and keeps its source checkpoint
    std::optional<uid_t> trusted_owner = {};  // another user to whom the source checkpoint may belong
    std::optional<SubmittedScript> recorded_script = {};  // of the experiment that is forked or continued
};

/// The checked input of a submission. Nothing has been written or submitted yet.
struct SubmissionRequest {
    config::ExperimentConfig config;
    std::string written;        // the configuration as the user wrote it
    pack::ContextSources code;  // may be empty
    plan::SubmissionPlan plan;
    RootLayout root;
    std::string job_template;
    std::filesystem::path det_launch;
    std::uint32_t array_size_max = 1001;          // Slurm's MaxArraySize; 1 for a single trial
    std::optional<std::uint32_t> tasks_max = {};  // of the experiment's array, because of a limit on jobs
    std::optional<std::uint32_t> notice_s = {};   // seconds from Slurm's notice to SIGKILL, if known
    DesiredState desired = DesiredState::run;     // pause: the jobs stay held until `experiment activate`
    std::optional<ExperimentId> parent = {};
    std::optional<ContextSpec> packed_code = {};  // code that is stored already, in place of `code`
    std::optional<SourceCheckpoint> source_checkpoint = {};
    GroupWritePolicy group_access = GroupWritePolicy::warned;
    TrustRules trust = {};        // for the directories of the root, the code and the checkpoints
    std::string dependency = {};  // sbatch --dependency of the first jobs, not of their replacements
    std::optional<SubmittedScript> script = {};  // the batch script that runs in place of an entrypoint
    config::Sharing sharing = config::Sharing::only_owner;
    std::vector<StagedFile> stage = {};  // the files of slurm.stage
};

/// Loads and checks the configuration and plans the jobs, before any file of the experiment is written. Asks
/// Slurm for partitions and settings. Checks who can write the root and the directories above it. Does not
/// check the code, and does not ask Slurm whether it accepts the
/// jobs.
Result<SubmissionRequest, Diagnostics> make_submission_request(SubmissionOptions options, Context& context);

}  // namespace det::experiment
