#include "create_experiment.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/json.hpp>
#include <det/render/script.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "make_spec.hpp"
#include "root.hpp"
#include "submission.hpp"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

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
        if (!mine) continue;
        DET_TRY(sync_directory(root.experiments()));
        return ExperimentId{id};
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

/// Everything of an experiment's directory that is there before Slurm hears of it, but the scripts.
Status fill_directory(Creation const& creation, ExperimentSpec const& spec) {
    ExperimentLayout const layout(creation.root, spec.id);
    DET_TRY(make_directory(layout.events()));
    DET_TRY(make_directory(layout.trials()));
    DET_TRY(write_configuration(creation, layout));
    // Absent is `run`: what nearly every creation wants costs no waiting for the disk.
    if (creation.desired != Desired::run) DET_TRY(journal::write_desired(layout.desired(), creation.desired));
    return write_file(layout.spec(), render_spec(spec), 0600, Durability::power_loss);
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

Result<CreatedExperiment> submit(Creation const& creation, std::optional<ContextSpec> const& context,
                                 Session& session, Cleanup& cleanup) {
    DET_TRY_ASSIGN(auto const id, take_id(creation.root));
    ExperimentLayout const layout(creation.root, id);
    cleanup.add(layout.path());
    Authorship const created{user_name(session.environment), session.clock.now()};
    auto spec = make_spec(creation, id, context, created);
    spec.sbatch_options = render::command_line_options(creation.plan, layout, job_comment(creation.root, id));
    DET_TRY(fill_directory(creation, spec));
    auto arrays = submit_arrays(creation, layout, spec, planned_arrays(creation), session);
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
    if (packed.was_repaired)
        session.say(fmt::format("'{}' was damaged; it is whole again", root.context(packed.sha256).string()));
    bool const has_hook = std::any_of(tree.members.begin(), tree.members.end(),
                                      [](auto const& member) { return member.path == "startup-hook.sh"; });
    return std::optional(ContextSpec{packed.sha256, packed.size_bytes, has_hook});
}

}  // namespace

Result<CreatedExperiment, Diagnostics> create_experiment(Creation const& creation, Session& session) {
    // What is wrong with the code is said before Slurm is asked for anything.
    DET_TRY_ASSIGN(auto const code, list_code(creation.code));
    if (code) print(session.err, code->warnings, session.style);
    DET_TRY_ASSIGN(auto accepted, ask_slurm_first(creation, session));
    Cleanup cleanup(creation.root);
    DET_TRY_ASSIGN(auto const context,
                   code ? store_code(*code, creation.root, session) : find_stored_code(creation));
    DET_TRY_ASSIGN(auto created, submit(creation, context, session, cleanup));
    created.start_estimate = std::move(accepted);
    return created;
}

}  // namespace det::cli
