#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/search/search.hpp>
#include <det/supervisor/archive.hpp>
#include <det/supervisor/prepare_node.hpp>

#include <fmt/format.h>

namespace det::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "work";

/// The run as its environment tells it.
class RunVariables {
public:
    explicit RunVariables(Environment const& environment) : environment_(environment) {}

    std::string text(std::string_view name) const { return environment_.find(name).value_or(""); }
    template <class T>
    T number(std::string_view name) const {
        return parse_integer<T>(text(name)).value_or(T{});
    }
    std::string hosts() const {
        auto const hosts = text(variables::run_hosts);
        return hosts.empty() ? text("SLURM_STEP_NODELIST") : hosts;
    }

private:
    Environment const& environment_;
};

/// "[0, 1, 2]"
std::vector<int> parse_slot_ids(std::string_view text) {
    auto const json = Json::parse(text, nullptr, false);
    auto const slots = decode_json("DET_SLOT_IDS", [&] { return json.get<std::vector<int>>(); });
    return slots.value_or(std::vector<int>{0});
}

Status write_cluster_info(fs::path const& info, RunVariables const& run, int node) {
    ClusterInfo cluster;
    cluster.cluster_id = run.text(variables::cluster_id);
    cluster.agent_id = run.text("SLURMD_NODENAME");
    cluster.slot_ids = parse_slot_ids(run.text(variables::slot_ids));
    cluster.task_id = run.text(variables::task_id);
    cluster.allocation_id = run.text(variables::allocation_id);
    if (auto checkpoint = run.text(variables::latest_checkpoint); !checkpoint.empty()) {
        cluster.latest_checkpoint = std::move(checkpoint);
    }
    DET_TRY(write_file(info / info_files::cluster, render_cluster_info(cluster)));

    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run.hosts()));
    std::vector<int> const slots(hosts.size(), static_cast<int>(cluster.slot_ids.size()));
    DET_TRY_ASSIGN(auto const rendezvous,
                   render_rendezvous_info({run.hosts(), compress_counts(slots), node}));
    DET_TRY(write_file(info / info_files::rendezvous, rendezvous));
    return write_file(info / info_files::resources, render_resources_info({}));
}

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
                               spec.config.value("debug", false),
                               std::nullopt};
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

Status prepare_node(fs::path const& run_dir, int node, Environment const& environment) {
    RunVariables const run(environment);
    auto const info = run_dir / info_files::directory;
    DET_TRY(make_directory(info));
    DET_TRY(preemption::NoticePage::create(run_dir / preemption::notice_file));
    DET_TRY(write_cluster_info(info, run, node));
    auto const experiment = run.text(variables::experiment_path);
    if (experiment.empty()) return Ok{};  // a script of the user's own
    DET_TRY_ASSIGN(auto const spec_text, read_file(ExperimentLayout(experiment).spec()));
    DET_TRY_ASSIGN(auto const spec, parse_spec(spec_text));
    DET_TRY(write_trial_info(info, run, spec, spec_text));
    return unpack_context(run_dir, spec);
}

}  // namespace det::supervisor
