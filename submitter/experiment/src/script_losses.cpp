#include "script_losses.hpp"

#include <det/foundation/text.hpp>
#include <det/plan/script.hpp>

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

/// The text in lower-case letters.
std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char byte) {
        return static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    });
    return result;
}

/// Whether a script names something that its program could continue from.
bool names_checkpoint(std::string_view text) {
    constexpr std::string_view words[] = {"ckpt", "checkpoint", "resume", "restart", ".pt", "outputs"};
    auto const script = lower(text);
    return std::ranges::any_of(words, [&](auto word) { return script.find(word) != std::string::npos; });
}

/// Whether a directory has files or directories of an earlier run that look like checkpoints.
bool has_checkpoints(fs::path const& directory) {
    constexpr std::size_t entries_max = 10'000;  // of a directory with data
    std::error_code failure;
    std::size_t count = 0;
    for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end;
         entry.increment(failure)) {
        auto const name = lower(entry->path().filename().string());
        bool const is_file = name.ends_with(".pt") || name.ends_with(".ckpt") || name.ends_with(".pth");
        bool const is_directory =
            name.starts_with("checkpoint") || name.starts_with("ckpt") || name == "outputs";
        if (is_file || is_directory) return true;
        if (++count == entries_max) break;
    }
    return false;
}

}  // namespace

Diagnostics find_script_losses(SubmittedScript const& script, plan::SubmissionPlan const& plan,
                               config::ExperimentConfig const& config) {
    Diagnostics found;
    bool const is_recognised = !config.slurm.progress_globs.empty() || names_checkpoint(script.text) ||
                               has_checkpoints(plan.batch_script->working_directory);
    if (!is_recognised) {
        found.warn(Error{
            codes::not_supported,
            fmt::format("no checkpoint of '{}' is recognised: after a preemption it begins anew, unless "
                        "its program finds its own",
                        script.name),
            "--config slurm.progress_glob='checkpoints/*.pt' names the files that it saves"});
    }
    auto const output = plan::shared_output_file(plan.sbatch_args);
    bool const is_truncated = lower(plan.sbatch_args.find("open-mode").value_or("truncate")).starts_with("t");
    if (!output.empty() && is_truncated) {
        found.warn(Error{
            codes::not_supported,
            fmt::format("'{}' is overwritten when the job starts, also after a preemption, unless the site "
                        "has JobFileAppend=1",
                        output),
            "'#SBATCH --open-mode=append' or %j in its name keeps it; 'det-submit experiment logs' has all "
            "output in any case"});
    }
    return found;
}

}  // namespace det::experiment
