#include <det/experiment/check_accounting.hpp>
#include <det/experiment/create_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/sharing.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/journal/event_log.hpp>
#include <det/pack/packing_thread.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "entrypoint_file.hpp"
#include "make_spec.hpp"
#include "run_event_hook.hpp"
#include "write_submission_files.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

/// Takes the next free number by mkdir, which is atomic on every file system that clusters have.
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

/// Removes the files of a failed creation. Removes the directories that all experiments share only if they
/// did not exist before and are empty, because another creation may run at the same time.
class Cleanup {
public:
    explicit Cleanup(RootLayout const& root) {
        for (auto const& path : {root.experiments(), root.contexts(), root.checkpoints(), root.path()}) {
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

/// Makes the directories of the root if it is shared, and warns if it is shared with nobody.
Status prepare_root(SubmissionRequest const& request, Context& context) {
    bool const is_shared = request.sharing == config::Sharing::group;
    if (is_shared || shares_new_files(request.root.experiments()))
        DET_TRY(apply_sharing(request.root, request.sharing));
    auto const group = is_shared ? find_group_of_one(request.root) : std::nullopt;
    if (group)
        context.warn(
            {codes::permission,
             fmt::format("the experiment is shared with the group '{}', which has no other members", *group),
             fmt::format("chgrp GROUP '{}', then 'det-submit config set sharing group'",
                         request.root.path().string())});
    return Ok{};
}

/// Writes all files of an experiment that exist before its jobs are submitted; spec.json comes last.
Status fill_directory(SubmissionRequest const& request, RenderedExperiment const& experiment) {
    auto const& layout = experiment.layout;
    DET_TRY(make_directory(layout.events()));
    DET_TRY(make_directory(layout.trials()));
    DET_TRY(write_submission_files(request, experiment));
    if (request.script) DET_TRY(write_file(layout.batch_script(), request.script->text, 0700));
    // Without this file, `run` is desired. Writing it only for a paused experiment saves a write that waits
    // for the disk.
    if (request.desired != DesiredState::run)
        DET_TRY(journal::write_desired(layout.desired(), request.desired));
    return write_file(layout.spec(), render_spec(experiment.spec), 0600, Durability::power_loss);
}

Result<RenderedExperiment> write_experiment(SubmissionRequest const& request,
                                            std::optional<ContextSpec> const& stored_code,
                                            std::vector<ArrayJob> const& planned, Context& context,
                                            Cleanup& cleanup) {
    DET_TRY_ASSIGN(auto const id, take_id(request.root));
    ExperimentLayout const layout(request.root, id);
    cleanup.add(layout.path());
    Authorship const created{user_name(context.environment), context.clock.now()};
    auto spec = make_spec(request, id, stored_code, created, planned);
    // Again, now that all directories exist.
    DET_TRY(require_trusted_root(request.root, request.trust));
    DET_TRY(check_trusted_directory(layout.path(), request.trust));
    DET_TRY(require_trusted_storage(spec.checkpoint_path, request.trust));
    DET_TRY_ASSIGN(auto experiment, render_experiment(request, layout, std::move(spec), planned));
    DET_TRY(fill_directory(request, experiment));
    return experiment;
}

/// Submits the jobs. The files stay if Slurm has the jobs, or may have them.
Result<std::vector<ArrayJob>> submit_held(SubmissionRequest const& request,
                                          RenderedExperiment const& experiment, Context& context,
                                          Cleanup& cleanup) {
    auto arrays = submit_arrays(request, experiment, context);
    bool const may_exist = arrays || arrays.error().code == codes::submission_unclear;
    if (may_exist) cleanup.keep();
    if (arrays || !may_exist) return arrays;
    return std::move(arrays).error().noting(fmt::format(
        "experiment {0} is kept: 'det-submit experiment activate {0}' completes it if Slurm has its jobs, "
        "'experiment kill {0}' ends it",
        experiment.spec.id.value));
}

/// Records the numbers of the jobs.
Status record_created(SubmissionRequest const& request, RenderedExperiment const& experiment,
                      std::vector<ArrayJob> const& jobs, Context& context) {
    DET_TRY(record_root_format(request.root));
    Event const created{std::string(event_kinds::created), context.clock.now(),
                        event_author(context.environment), jobs_body(jobs)};
    return journal::append_event(experiment.layout.events(), created);
}

/// Records the numbers of the held jobs, then releases them, unless the experiment is created paused.
Status record_and_release(SubmissionRequest const& request, RenderedExperiment const& experiment,
                          std::vector<ArrayJob> const& held, Context& context) {
    DET_TRY(record_created(request, experiment, held, context));
    if (request.desired == DesiredState::pause) return Ok{};
    for (auto const& array : held) DET_TRY(context.slurm.release({array.job, {}}));
    return Ok{};
}

Result<CreatedExperiment> release(SubmissionRequest const& request, RenderedExperiment const& experiment,
                                  std::vector<ArrayJob> const& held, Context& context) {
    auto const id = experiment.spec.id;
    if (auto released = record_and_release(request, experiment, held, context); !released) {
        return std::move(released).error().noting(
            fmt::format("experiment {0} was submitted as job {1}, which is held: 'det-submit experiment "
                        "activate {0}' releases it",
                        id.value, join_job_ids(held)));
    }
    run_hook_for_submission(experiment.spec, held, context);
    CreatedExperiment result{id, {}, experiment.layout.path()};
    for (auto const& array : held) result.jobs.push_back(array.job);
    return result;
}

/// Lists the code. Refuses a directory or file that other users could change.
Result<std::optional<pack::ContextTree>, Diagnostics> list_code(pack::ContextSources const& code,
                                                                GroupWritePolicy access,
                                                                TrustRules const& rules, Context& context) {
    Diagnostics problems;
    if (code.directory) check_code_permissions("context", *code.directory, access, rules, problems);
    for (auto const& include : code.includes)
        check_code_permissions("included", include, access, rules, problems);
    if (problems.has_errors()) return problems;
    context.on_warnings(problems);
    if (!code.directory && code.includes.empty()) return std::optional<pack::ContextTree>();
    DET_TRY_ASSIGN(auto tree, pack::list_context(code));
    check_group_code(tree, access, tree.warnings);
    if (tree.warnings.has_errors()) return tree.warnings;
    return std::optional(std::move(tree));
}

/// Lists the code of a request and checks that it has the file that the entrypoint starts. Tells what is
/// packed.
Result<std::optional<pack::ContextTree>, Diagnostics> require_code(SubmissionRequest const& request,
                                                                   Context& context) {
    DET_TRY_ASSIGN(auto code, list_code(request.code, request.group_access, request.trust, context));
    if (code) context.on_warnings(code->warnings);
    DET_TRY(check_entrypoint_file(request, code ? &*code : nullptr));
    if (code) context.on_message("code: " + describe_code(*code));
    return code;
}

Result<std::optional<ContextSpec>> store_code(pack::ContextTree const& tree, pack::PackedTree archive,
                                              fs::path const& contexts, Context& context) {
    DET_TRY_ASSIGN(auto const packed, archive.store());
    if (packed.was_repaired)
        context.on_message(fmt::format("'{}' was damaged; it is whole again",
                                       (contexts / (packed.sha256 + ".tar.zst")).string()));
    bool const has_hook = std::any_of(tree.members.begin(), tree.members.end(),
                                      [](auto const& member) { return member.path == "startup-hook.sh"; });
    return std::optional(ContextSpec{packed.sha256, packed.size_bytes, has_hook});
}

Result<std::optional<ContextSpec>> join_and_store(pack::PackingThread& packing, pack::ContextTree const& tree,
                                                  fs::path const& contexts, Context& context) {
    DET_TRY_ASSIGN(auto packed, packing.join());
    return store_code(tree, std::move(packed), contexts, context);
}

}  // namespace

Result<std::optional<ContextSpec>, Diagnostics> pack_code(pack::ContextSources const& sources,
                                                          fs::path const& contexts, Context& context) {
    DET_TRY_ASSIGN(auto const code, list_code(sources, GroupWritePolicy::warned, {}, context));
    if (!code) return std::optional<ContextSpec>();
    context.on_warnings(code->warnings);
    context.on_message("code: " + describe_code(*code));
    DET_TRY_ASSIGN(auto packed, pack::pack_tree(*code, contexts));
    DET_TRY_ASSIGN(auto stored, store_code(*code, std::move(packed), contexts, context));
    return stored;
}

Result<AcceptedArrays, Diagnostics> check_creation(SubmissionRequest const& request, Context& context) {
    DET_TRY_ASSIGN(auto const code, require_code(request, context));
    warn_about_limits(request.plan, context);
    DET_TRY_ASSIGN(auto accepted, plan_accepted_arrays(request, context));
    if (!code) DET_TRY(require_stored_code(request));
    auto const spec = make_spec(request, {}, std::nullopt, {}, accepted.arrays);
    DET_TRY(require_trusted_storage(spec.checkpoint_path, request.trust));
    return accepted;
}

Result<CreatedExperiment, Diagnostics> create_experiment(SubmissionRequest const& request, Context& context) {
    // Reports problems of the code before it asks Slurm.
    DET_TRY_ASSIGN(auto const code, require_code(request, context));
    warn_about_limits(request.plan, context);
    Cleanup cleanup(request.root);
    DET_TRY(prepare_root(request, context));
    std::optional<pack::PackingThread> packing;
    if (code) packing.emplace(*code, request.root.contexts());
    DET_TRY_ASSIGN(auto accepted, plan_accepted_arrays(request, context));
    DET_TRY_ASSIGN(auto const stored_code,
                   packing ? join_and_store(*packing, *code, request.root.contexts(), context)
                           : require_stored_code(request));
    if (stored_code) DET_TRY(share_code(request.root, stored_code->sha256));
    DET_TRY_ASSIGN(auto const written,
                   write_experiment(request, stored_code, accepted.arrays, context, cleanup));
    DET_TRY_ASSIGN(auto const held, submit_held(request, written, context, cleanup));
    DET_TRY_ASSIGN(auto created, release(request, written, held, context));
    created.expected_start = std::move(accepted.expected_start);
    return created;
}

Result<CreatedExperiment> create_for_running_job(SubmissionRequest const& request, ArrayJob const& array,
                                                 Context& context) {
    Cleanup cleanup(request.root);
    DET_TRY(prepare_root(request, context));
    DET_TRY_ASSIGN(auto const written, write_experiment(request, std::nullopt, {array}, context, cleanup));
    DET_TRY(record_created(request, written, {array}, context));
    slurm::JobChange change;
    change.comment = job_comment(request.root, written.spec.id);
    change.is_requeueable = true;
    DET_TRY(context.slurm.update_job({array.job, {}}, change));
    cleanup.keep();
    run_hook_for_submission(written.spec, {array}, context);
    return CreatedExperiment{written.spec.id, {array.job}, written.layout.path()};
}

}  // namespace det::experiment
