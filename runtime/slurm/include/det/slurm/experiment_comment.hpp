#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::slurm {

/// The comment by which a job of an experiment is recognised: "det:ROOT/7". Any user can write one.
struct ExperimentComment {
    std::string root_id;
    std::optional<std::uint32_t> experiment;  // empty if the text after the root is no number
};

std::string render_experiment_comment(std::string_view root_id, std::uint32_t experiment);
/// nullopt if the comment is not that of an experiment.
std::optional<ExperimentComment> parse_experiment_comment(std::string_view comment);

}  // namespace det::slurm
