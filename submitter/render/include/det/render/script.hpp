#pragma once
#include <det/foundation/result.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::render {

/// What a batch script says besides the plan.
struct ScriptInput {
    ExperimentId experiment;
    std::string experiment_name;  // the user's text
    std::filesystem::path experiment_path;
    std::filesystem::path det_launch;  // absolute
    plan::JobArray array = {};
};

/// Fills a template (templates/job/*.sbatch): {{name}} becomes a value that a shell reads as one word,
/// {{#name}} a text for a comment, on one line, and {{sbatch_options}} the #SBATCH lines. No text of the
/// user's stands where a shell would run it or sbatch would read it. An unknown name is codes::bad_value.
/// Pure.
Result<std::string> render_script(std::string_view template_text, plan::SubmissionPlan const& plan,
                                  ScriptInput const& input);

/// What does not stand in the script, since it holds the user's text: for sbatch's command line. Pure.
std::vector<std::string> command_line_options(plan::SubmissionPlan const& plan,
                                              ExperimentLayout const& experiment, std::string_view comment);

}  // namespace det::render
