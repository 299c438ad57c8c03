#include <det/experiment/record_pool.hpp>
#include <det/experiment/root.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>

namespace det::experiment {
namespace {

Status write_pool(ExperimentLayout const& layout, std::string const& partition) {
    DET_TRY_ASSIGN(auto spec, journal::load_spec(layout));
    auto const option = std::ranges::find_if(
        spec.sbatch_options, [](auto const& each) { return each.starts_with("--partition="); });
    if (option == spec.sbatch_options.end() || *option == "--partition=" + partition) return Ok{};
    *option = "--partition=" + partition;
    spec.pool = partition;
    return write_file(layout.spec(), render_spec(spec), 0600, Durability::power_loss);
}

}  // namespace

void record_pool(std::uint32_t job, std::vector<slurm::JobStatus> const& jobs,
                 queue::JobIdScope const& naming, Context& context) {
    auto const moved = std::ranges::find_if(jobs, [&](auto const& each) { return each.ref.job == job; });
    auto const root = find_root(context.environment);
    if (moved == jobs.end() || !root) return;
    auto const experiment = queue::experiment_of(*moved, naming);
    if (!experiment) return;
    bool const is_split = std::ranges::any_of(jobs, [&](auto const& each) {
        return queue::experiment_of(each, naming) == experiment && each.partition != moved->partition;
    });
    if (is_split) return;
    auto written = write_pool(ExperimentLayout(*root, {*experiment}), moved->partition);
    if (!written)
        context.warn(std::move(written).error().while_doing("recording where the experiment's jobs are now"));
}

}  // namespace det::experiment
