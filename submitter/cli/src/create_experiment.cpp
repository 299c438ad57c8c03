#include "create_experiment.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/files.hpp>
#include <det/history/history.hpp>
#include <det/journal/event_log.hpp>
#include <det/pack/pack.hpp>
#include <det/render/script.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "make_spec.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

render::ScriptInput script_input(Creation const& creation, ExperimentId id, plan::ArrayPart const& array) {
    return {id, creation.config.name, ExperimentLayout(creation.root, id).path(), creation.det_launch, array};
}

std::vector<plan::ArrayPart> arrays_of(Creation const& creation) {
    auto const& plan = creation.plan;
    return plan::split_into_arrays({plan.trial_count, plan.concurrent_trials_max, plan.lanes},
                                   creation.array_size_max);
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

/// "Job 12 to start at 2026-11-21T16:20:00 using 32 processors on ...": the time; empty where there is none.
std::string start_estimate_in(std::string_view said) {
    constexpr std::string_view before = " to start at ";
    auto const found = said.find(before);
    if (found == std::string_view::npos) return "";
    auto const time = said.substr(found + before.size());
    return std::string(time.substr(0, time.find(' ')));
}

/// Whether Slurm would take it, and when it would start, as far as Slurm says.
Result<std::string> ask_slurm_first(Creation const& creation, Session& session) {
    // sbatch takes what waits for nodes that are drained or down; its --test-only refuses it.
    if (creation.plan.must_wait_for_nodes()) return std::string();
    DET_TRY_ASSIGN(auto const script, preview_script(creation));
    DET_TRY_ASSIGN(auto const in_memory, ScriptInMemory::make(script));
    ExperimentLayout const layout(creation.root, {0});
    DET_TRY_ASSIGN(auto const said,
                   session.slurm.test_submission(
                       {render::command_line_options(creation.plan, layout, job_comment(creation.root, {0})),
                        in_memory.path(), session.environment}));
    return start_estimate_in(said);
}

Status write_secrets(ExperimentLayout const& layout, config::ExperimentConfig const& config) {
    auto const secrets = config::find_secrets(config.effective);
    if (!secrets) return Ok{};
    return write_file(layout.secrets(), to_line(yaml::to_json(*secrets)) + "\n", 0600);
}

/// Everything of an experiment's directory that is there before Slurm hears of it, but the scripts.
Status fill_directory(Creation const& creation, ExperimentSpec const& spec) {
    ExperimentLayout const layout(creation.root, spec.id);
    DET_TRY(make_directory(layout.events()));
    DET_TRY(make_directory(layout.trials()));
    DET_TRY(write_file(layout.submitted(), creation.written));
    DET_TRY(write_file(layout.config(), yaml::render_yaml(config::mask_secrets(creation.config.effective))));
    DET_TRY(write_secrets(layout, creation.config));
    // Absent is `run`: what nearly every creation wants costs no waiting for the disk.
    if (creation.desired != Desired::run) DET_TRY(journal::write_desired(layout.desired(), creation.desired));
    return write_file(layout.spec(), render_spec(spec), 0600, Durability::power_loss);
}

/// One array, held.
Result<ArrayJob> submit_array(Creation const& creation, ExperimentSpec const& spec,
                              plan::ArrayPart const& array, Session& session) {
    ExperimentLayout const layout(creation.root, spec.id);
    auto const input = script_input(creation, spec.id, array);
    DET_TRY_ASSIGN(auto const script, render::render_script(creation.job_template, creation.plan, input));
    DET_TRY(write_file(layout.script(array.first_trial), script));
    auto options = spec.sbatch_options;
    options.insert(options.begin(), "--hold");
    DET_TRY_ASSIGN(auto const job,
                   session.slurm.submit({options, layout.script(array.first_trial), session.environment}));
    return ArrayJob{job, array.first_trial, array.trial_count, array.lanes, array.running_max};
}

/// All arrays or none: what Slurm has already when one is refused is taken back.
Result<std::vector<ArrayJob>> submit_arrays(Creation const& creation, ExperimentSpec const& spec,
                                            Session& session) {
    std::vector<ArrayJob> submitted;
    for (auto const& array : arrays_of(creation)) {
        auto job = submit_array(creation, spec, array, session);
        if (job) {
            submitted.push_back(*job);
            continue;
        }
        auto error = std::move(job).error();
        for (auto const& done : submitted) {
            if (auto const taken_back = session.slurm.cancel({done.job, {}}); !taken_back)
                error.notes.push_back(
                    fmt::format("job {} is left over, held; cancel it with scancel", done.job));
        }
        return error;
    }
    return submitted;
}

/// From the held jobs on: their ids are recorded, then they may run.
Status record_and_release(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                          Creation const& creation, Session& session) {
    Event const created{std::string(event_kinds::created), session.clock.now(),
                        user_name(session.environment) + "@" + host_name(), jobs_body(arrays)};
    DET_TRY(journal::append_event(layout.events(), created));
    if (creation.desired == Desired::pause) return Ok{};
    for (auto const& array : arrays) DET_TRY(session.slurm.release({array.job, {}}));
    return Ok{};
}

std::string list_jobs(std::vector<ArrayJob> const& arrays) {
    std::vector<std::uint32_t> jobs;
    for (auto const& array : arrays) jobs.push_back(array.job);
    return fmt::format("{}", fmt::join(jobs, ", "));
}

Result<CreatedExperiment> submit(Creation const& creation, std::optional<ContextSpec> const& context,
                                 Session& session, Cleanup& cleanup) {
    DET_TRY_ASSIGN(auto const id, take_id(creation.root));
    ExperimentLayout const layout(creation.root, id);
    cleanup.add(layout.path());
    Authorship const created{user_name(session.environment), session.clock.now()};
    auto spec = make_spec(creation, id, context, created);
    spec.sbatch_options = render::command_line_options(creation.plan, layout, job_comment(creation.root, id));
    DET_TRY(fill_directory(creation, spec));
    auto arrays = submit_arrays(creation, spec, session);
    if (!arrays) {
        if (arrays.error().code != codes::submission_unclear) return std::move(arrays).error();
        cleanup.keep();
        return std::move(arrays).error().noting(fmt::format(
            "experiment {0} is kept: 'det-submit experiment activate {0}' goes on where Slurm has its "
            "jobs, 'experiment kill {0}' puts it away",
            id.value));
    }
    cleanup.keep();
    auto released = record_and_release(layout, *arrays, creation, session);
    if (!released) {
        return std::move(released).error().noting(
            fmt::format("experiment {0} was submitted as job {1}, which is held: 'det-submit experiment "
                        "activate {0}' goes on",
                        id.value, list_jobs(*arrays)));
    }
    CreatedExperiment result{id, {}, layout.path()};
    for (auto const& array : *arrays) result.jobs.push_back(array.job);
    return result;
}

/// Others must not be able to change what runs as this user. Only what was named is looked at: what is below
/// can be replaced only by those who may write there.
Result<std::optional<pack::ContextTree>, Diagnostics> list_code(pack::ContextSources const& code) {
    constexpr char advice[] = "copy it to a directory of yours";
    Diagnostics problems;
    auto const check = [&](std::string_view what, fs::path const& path) {
        auto safe = check_private(path, fmt::format("the {} '{}'", what, path.string()), advice);
        if (!safe) problems.report(std::move(safe).error());
    };
    if (code.directory) check("context", *code.directory);
    for (auto const& include : code.includes) check("included", include);
    if (problems.has_errors()) return problems;
    if (!code.directory && code.includes.empty()) return std::optional<pack::ContextTree>();
    DET_TRY_ASSIGN(auto tree, pack::list_context(code));
    return std::optional(std::move(tree));
}

Result<std::optional<ContextSpec>> store_code(pack::ContextTree const& tree, RootLayout const& root,
                                              Session& session) {
    DET_TRY_ASSIGN(auto const packed, pack::pack_context(tree, root.contexts()));
    if (packed.was_damaged)
        session.say(fmt::format("'{}' was damaged; it is whole again", root.context(packed.sha256).string()));
    bool const has_hook = std::any_of(tree.members.begin(), tree.members.end(),
                                      [](auto const& member) { return member.path == "startup-hook.sh"; });
    return std::optional(ContextSpec{packed.sha256, packed.size_bytes, has_hook});
}

/// Of a fork: its parent's.
Result<std::optional<ContextSpec>> find_stored_code(Creation const& creation) {
    if (!creation.packed_code || path_exists(creation.root.context(creation.packed_code->sha256)))
        return creation.packed_code;
    return Error{codes::no_such_file,
                 fmt::format("the code is gone: there is no '{}'",
                             creation.root.context(creation.packed_code->sha256).string()),
                 "create the experiment anew from a directory"};
}

}  // namespace

Result<std::string> preview_script(Creation const& creation) {
    return render::render_script(creation.job_template, creation.plan,
                                 script_input(creation, {0}, arrays_of(creation).front()));
}

Result<CreatedExperiment, Diagnostics> create_experiment(Creation const& creation, Session& session) {
    // What is wrong with the code is said before Slurm is asked for anything.
    DET_TRY_ASSIGN(auto const code, list_code(creation.code));
    if (code) print(session.err, code->warnings, session.style);
    auto accepted = ask_slurm_first(creation, session);
    if (!accepted) return Diagnostics(std::move(accepted).error());
    Cleanup cleanup(creation.root);
    auto const context = code ? store_code(*code, creation.root, session) : find_stored_code(creation);
    if (!context) return Diagnostics(context.error());
    auto created = submit(creation, *context, session, cleanup);
    if (!created) return Diagnostics(std::move(created).error());
    created->start_estimate = *std::move(accepted);
    return *std::move(created);
}

}  // namespace det::cli
