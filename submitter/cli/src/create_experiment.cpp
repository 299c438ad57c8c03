#include "create_experiment.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/render/script.hpp>
#include <det/yaml/render.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "root.hpp"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entrypoint_argv(config::Entrypoint const& entrypoint) {
    if (auto const* command = std::get_if<std::string>(&entrypoint)) return {"sh", "-c", *command};
    return std::get<std::vector<std::string>>(entrypoint);
}

std::vector<std::string> environment_variables(config::ExperimentConfig const& config, SlotType type) {
    auto const& kinds = config.environment.environment_variables;
    auto const& variables = type == SlotType::cuda   ? kinds.cuda
                            : type == SlotType::rocm ? kinds.rocm
                                                     : kinds.cpu;
    std::vector<std::string> list;
    for (auto const& variable : variables) list.push_back(variable.name + "=" + variable.value);
    return list;
}

std::string checkpoint_path(config::ExperimentConfig const& config) {
    auto const* shared = std::get_if<config::SharedFsStorage>(&config.checkpoint_storage.location);
    if (shared == nullptr) return "";  // refused by the plan
    fs::path path(shared->host_path);
    // An absolute storage_path lies below host_path already.
    if (shared->storage_path) path /= *shared->storage_path;
    return path.lexically_normal().string();
}

Json at_key(Json const& config, char const* key) { return config.value(key, Json::object()); }

ExperimentSpec make_spec(Creation const& creation, ExperimentId id,
                         std::optional<pack::PackedContext> const& context, Session const& session) {
    auto const& config = creation.config;
    auto const effective = yaml::to_json(config::mask_secrets(config.effective));
    ExperimentSpec spec;
    spec.id = id;
    spec.name = config.name;
    spec.owner = user_name(session.environment);
    spec.created = session.clock.now();
    spec.root = creation.root.path();
    spec.pool = creation.plan.pool.name;
    spec.shape = creation.plan.shape;
    spec.launch = config.slurm.launch;
    spec.mpi = config.slurm.mpi;
    spec.entrypoint = entrypoint_argv(config.entrypoint);
    spec.environment_variables = environment_variables(config, creation.plan.shape.slot_type);
    if (context) spec.context = ContextSpec{context->sha256, context->size_bytes};
    spec.searcher = {config.searcher.name, config.searcher.metric, config.searcher.smaller_is_better,
                     at_key(effective, "searcher")};
    spec.hyperparameters = at_key(effective, "hyperparameters");
    spec.experiment_seed = static_cast<std::uint32_t>(config.reproducibility.experiment_seed.value_or(0));
    spec.trial_count = creation.plan.trial_count;
    spec.max_restarts = static_cast<std::uint32_t>(config.max_restarts);
    spec.checkpoint_path = checkpoint_path(config);
    spec.config = effective;
    return spec;
}

render::ScriptInput script_input(Creation const& creation, ExperimentId id) {
    return {id, creation.config.name, ExperimentLayout(creation.root, id).path(), creation.det_launch};
}

/// The next free number, taken by mkdir: atomic on every file system that clusters have.
Result<ExperimentId> take_id(RootLayout const& root) {
    DET_TRY(make_directories(root.experiments()));
    DET_TRY_ASSIGN(auto const names, list_directory(root.experiments()));
    std::uint32_t highest = 0;
    for (auto const& name : names) {
        if (auto const id = parse_experiment_id(name)) highest = std::max(highest, id->value);
    }
    for (auto id = highest + 1;; ++id) {
        DET_TRY_ASSIGN(bool const mine, make_directory(ExperimentLayout(root, {id}).path()));
        if (mine) return ExperimentId{id};
    }
}

/// Removes what was begun unless it is kept. Directories that others use as well go only where they were not
/// there before and are empty: two may create at once.
class Cleanup {
public:
    explicit Cleanup(RootLayout const& root) {
        for (auto const& path : {root.experiments(), root.contexts(), root.path()}) {
            if (!path_exists(path)) shared_.push_back(path);
        }
    }
    ~Cleanup() {
        if (is_kept_) return;
        for (auto const& path : own_) (void)remove_tree(path);
        for (auto const& path : shared_) ::rmdir(path.c_str());
    }
    Cleanup(Cleanup const&) = delete;
    Cleanup& operator=(Cleanup const&) = delete;
    void add(fs::path path) { own_.push_back(std::move(path)); }
    void keep() { is_kept_ = true; }

private:
    std::vector<fs::path> own_, shared_;
    bool is_kept_ = false;
};

/// A script in memory that sbatch can open by a path: to ask whether it would be accepted, nothing needs to
/// be written to a disk.
class ScriptInMemory {
public:
    static Result<ScriptInMemory> make(std::string_view text) {
        UniqueFd fd(::memfd_create("script", MFD_CLOEXEC));
        if (!fd) return os_error("make a file in memory", errno);
        DET_TRY(write_all(fd.get(), text, "a file in memory"));
        return ScriptInMemory(std::move(fd));
    }
    fs::path path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get()); }

private:
    explicit ScriptInMemory(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

Status ask_slurm_first(Creation const& creation, Session& session) {
    // sbatch takes what waits for nodes that are drained or down; its --test-only refuses it.
    if (!creation.plan.warnings.empty()) return Ok{};
    DET_TRY_ASSIGN(auto const script, preview_script(creation));
    DET_TRY_ASSIGN(auto const in_memory, ScriptInMemory::make(script));
    DET_TRY(session.slurm.test_submission(
        {render::command_line_options(creation.plan, script_input(creation, {0}), root_id(creation.root)),
         in_memory.path(), session.environment}));
    return Ok{};
}

/// Everything of an experiment's directory that is there before Slurm hears of it.
Status fill_directory(Creation const& creation, ExperimentSpec const& spec, std::string const& script) {
    ExperimentLayout const layout(creation.root, spec.id);
    DET_TRY(make_directory(layout.events()));
    DET_TRY(make_directory(layout.trials()));
    DET_TRY(write_file(layout.submitted(), creation.written));
    DET_TRY(write_file(layout.config(), yaml::render_yaml(config::mask_secrets(creation.config.effective))));
    DET_TRY(write_file(layout.spec(), render_spec(spec), 0600, Durability::power_loss));
    DET_TRY(write_file(layout.script(), script));
    return journal::write_desired(layout.desired(), Desired::run);
}

/// From the held job on: its id is recorded, then it may run.
Status record_and_release(ExperimentLayout const& layout, std::uint32_t job, Creation const& creation,
                          Session& session) {
    Event const created{std::string(event_kinds::created), session.clock.now(),
                        user_name(session.environment) + "@" + host_name(),
                        Json{{"job_id", std::to_string(job)}, {"array", creation.plan.array()}}};
    DET_TRY(journal::append_event(layout.events(), created));
    return session.slurm.release({job});
}

Result<CreatedExperiment> submit(Creation const& creation, std::optional<pack::PackedContext> const& context,
                                 Session& session, Cleanup& cleanup) {
    DET_TRY_ASSIGN(auto const id, take_id(creation.root));
    ExperimentLayout const layout(creation.root, id);
    cleanup.add(layout.path());
    auto const input = script_input(creation, id);
    DET_TRY_ASSIGN(auto const script, render::render_script(creation.job_template, creation.plan, input));
    DET_TRY(fill_directory(creation, make_spec(creation, id, context, session), script));

    auto options = render::command_line_options(creation.plan, input, root_id(creation.root));
    options.insert(options.begin(), "--hold");
    DET_TRY_ASSIGN(auto const job, session.slurm.submit({options, layout.script(), session.environment}));
    cleanup.keep();
    auto released = record_and_release(layout, job, creation, session);
    if (!released) {
        return std::move(released).error().noting(
            fmt::format("experiment {} was submitted as job {}, which is held", id.value, job));
    }
    return CreatedExperiment{id, job, layout.path()};
}

}  // namespace

Result<std::string> preview_script(Creation const& creation) {
    return render::render_script(creation.job_template, creation.plan, script_input(creation, {0}));
}

Result<CreatedExperiment, Diagnostics> create_experiment(Creation const& creation, Session& session) {
    // What is wrong with the context is said before Slurm is asked for anything.
    if (creation.context) {
        if (auto const members = pack::list_context(*creation.context); !members) return members.error();
    }
    if (auto accepted = ask_slurm_first(creation, session); !accepted)
        return Diagnostics(std::move(accepted).error());
    Cleanup cleanup(creation.root);
    std::optional<pack::PackedContext> context;
    if (creation.context) {
        auto packed = pack::pack_context(*creation.context, creation.root.contexts());
        if (!packed) return std::move(packed).error();
        context = *std::move(packed);
        if (!context->was_there) cleanup.add(creation.root.context(context->sha256));
    }
    auto created = submit(creation, context, session, cleanup);
    if (!created) return Diagnostics(std::move(created).error());
    return *std::move(created);
}

}  // namespace det::cli
