#include <det/foundation/text.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::slurm {
namespace {

constexpr std::string_view comment_prefix = "det:";

}  // namespace

std::string render_experiment_comment(std::string_view root_id, std::uint32_t experiment) {
    return fmt::format("{}{}/{}", comment_prefix, root_id, experiment);
}

std::optional<ExperimentComment> parse_experiment_comment(std::string_view comment) {
    if (!comment.starts_with(comment_prefix)) return std::nullopt;
    auto const rest = comment.substr(comment_prefix.size());
    auto const slash = std::min(rest.find('/'), rest.size());
    auto const number = rest.substr(std::min(slash + 1, rest.size()));
    return ExperimentComment{std::string(rest.substr(0, slash)), parse_integer<std::uint32_t>(number)};
}

}  // namespace det::slurm
