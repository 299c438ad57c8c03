#pragma once
#include <det/foundation/result.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/directory_layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::plan {

/// The contents of a batch script that are not in the plan.
struct ScriptInput {
    ExperimentId experiment;
    std::string experiment_name;  // written by the user
    std::filesystem::path experiment_path;
    std::filesystem::path det_launch;  // absolute
    JobArray array = {};
    std::vector<std::string> trusted_ancestors = {};
};

/// Fills a job template (templates/job/*.sbatch): {{KEY}} becomes a value quoted as one shell word, {{#KEY}}
/// a text for a comment, on one line, and {{sbatch_options}} the #SBATCH lines. The shell never executes and
/// sbatch never reads the user's text. An unknown KEY, a `{{` without `}}` and a template that does not pass
/// the trusted ancestors on are codes::bad_value. Pure.
Result<std::string> render_script(std::string_view template_text, SubmissionPlan const& plan,
                                  ScriptInput const& input);

/// Returns the options of sbatch's command line. They are not in the script, because most contain text of
/// the user or the administrator. Pure.
std::vector<std::string> sbatch_command_line_options(SubmissionPlan const& plan,
                                                     ExperimentLayout const& experiment,
                                                     std::string_view comment);

/// \return The file of --output or --error in the header of a batch script that other jobs of the same script
/// write too, because its name has no job number: sbatch truncates it when a job starts or is requeued,
/// unless --open-mode says append. Empty: there is none. Pure.
std::string shared_output_file(config::SbatchArgs const& header);

}  // namespace det::plan
