#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/supervisor/archive.hpp>
#include <det/launch/supervisor/prepare_node.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/search/search.hpp>

#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "workdir";

/// Typed access to the variables of the run.
class RunVariables {
public:
    explicit RunVariables(Environment const& environment) : environment_(environment) {}

    std::string text(std::string_view name) const { return environment_.find(name).value_or(""); }
    std::optional<std::string> optional(std::string_view name) const {
        return environment_.find_non_empty(name);
    }
    template <class T>
    T number(std::string_view name) const {
        return parse_integer<T>(text(name)).value_or(T{});
    }

private:
    Environment const& environment_;
};

Status write_trial_info(fs::path const& info, RunVariables const& run, ExperimentSpec const& spec,
                        std::string const& spec_text) {
    auto const trial = parse_trial_id(run.text(variables::trial_id));
    if (!trial) return Error{codes::bad_value, fmt::format("{} is not set", variables::trial_id)};
    DET_TRY_ASSIGN(auto const draw, search::draw_trial(spec, trial->index));
    TrialInfo const trial_info{*trial,
                               run.number<std::uint32_t>(variables::trial_run_id),
                               draw.seed,
                               draw.hyperparameters,
                               spec.config,
                               run.number<std::uint64_t>(variables::steps_completed),
                               spec.config->value("debug", false),
                               run.optional(variables::inter_node_network_interface)};
    DET_TRY(write_file(info / info_files::trial, render_trial_info(trial_info)));
    return write_file(info / info_files::spec, spec_text);
}

Status unpack_context(fs::path const& run_dir, ExperimentSpec const& spec) {
    if (!spec.context) return Ok{};
    auto const work = run_dir / work_directory;
    DET_TRY(make_directory(work));
    return unpack_archive(RootLayout(spec.root).context(spec.context->sha256), spec.context->sha256, work);
}

}  // namespace

Status prepare_node(fs::path const& run_dir, Environment const& environment) {
    RunVariables const run(environment);
    auto const experiment = run.text(variables::experiment_path);
    DET_TRY_ASSIGN(auto const spec_text, read_file(ExperimentLayout(experiment).spec()));
    DET_TRY_ASSIGN(auto const spec, parse_spec(spec_text));
    DET_TRY(write_trial_info(run_dir / info_files::directory, run, spec, spec_text));
    return unpack_context(run_dir, spec);
}

}  // namespace det::launch::supervisor
