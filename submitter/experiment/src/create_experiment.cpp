#include <det/experiment/check_accounting.hpp>
#include <det/experiment/create_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/sharing.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/background.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/sync_file.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/journal/event_log.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/history.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include "entrypoint_file.hpp"
#include "make_spec.hpp"
#include "run_event_hook.hpp"
#include "write_submission_files.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view staging_prefix = ".new-";  // of a directory in experiments/

/// The number after the highest one.
Result<ExperimentId> find_next_id(RootLayout const& root) {
    DET_TRY_ASSIGN(auto const names, list_directory(root.experiments()));
    std::uint32_t highest = 0;
    for (auto const& name : names) {
        if (auto const id = parse_experiment_id(name)) highest = std::max(highest, id->value);
    }
    return ExperimentId{highest + 1};
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
    DET_TRY(make_own_directory(layout.events()));
    DET_TRY(make_own_directory(layout.trials()));
    DET_TRY(write_submission_files(request, experiment));
    if (request.script) DET_TRY(write_file(layout.batch_script(), request.script->text, 0700));
    // Without this file, `run` is desired. Writing it only for a paused experiment saves a write that waits
    // for the disk.
    if (request.desired != DesiredState::run)
        DET_TRY(journal::write_desired(layout.desired(), request.desired));
    return write_file(layout.spec(), render_spec(experiment.spec), 0600, Durability::power_loss);
}

/// What the files of an experiment are made of, besides its number.
struct Contents {
    SubmissionRequest const& request;
    std::optional<ContextSpec> code;
    std::vector<ArrayJob> arrays;
    Authorship created;
};

/// Writes an experiment of this number into a directory with a temporary name, whose layout it has.
Result<RenderedExperiment> stage(Contents const& contents, ExperimentId id, fs::path const& directory) {
    auto const& request = contents.request;
    DET_TRY(remove_tree(directory));
    DET_TRY(make_own_directory(directory));
    auto spec = make_spec(request, id, contents.code, contents.created, contents.arrays);
    // Again, now that all directories exist.
    DET_TRY(require_trusted_root(request.root, request.trust));
    DET_TRY(check_trusted_directory(directory, request.trust));
    DET_TRY(require_trusted_storage(spec.checkpoint_path, request.trust));
    DET_TRY_ASSIGN(auto experiment,
                   render_experiment(request, ExperimentLayout(directory), std::move(spec), contents.arrays));
    DET_TRY(fill_directory(request, experiment));
    return experiment;
}

/// Writes the experiment under the number that is probably the next one.
Result<RenderedExperiment> stage_next(Contents const& contents, Cleanup& cleanup) {
    auto const& root = contents.request.root;
    DET_TRY(make_directories(root.experiments()));
    auto const directory = temporary_name(root.experiments(), staging_prefix);
    cleanup.add(directory);
    DET_TRY_ASSIGN(auto const id, find_next_id(root));
    DET_TRY_ASSIGN(auto staged, stage(contents, id, directory));
    remove_old_temporaries(root.experiments(), staging_prefix, directory);
    return staged;
}

/// Gives the directory of a staged experiment a free number as its name. rename(2) fails if an experiment has
/// the name; if its reply is lost on NFS, rename_own() sees that it has succeeded, which nothing can see of a
/// mkdir(2). If another creation has taken the number since, writes the files again.
Result<RenderedExperiment> place(RenderedExperiment staged, Contents const& contents, Cleanup& cleanup,
                                 SyncThread& syncs) {
    auto const& root = contents.request.root;
    auto const directory = staged.layout.path();
    for (auto id = staged.spec.id;; ++id.value) {
        ExperimentLayout const layout(root, id);
        // rename(2) replaces an empty directory. One is there for a moment if an older det-submit takes the
        // number with mkdir(2), and for good if that was killed then.
        if (path_exists(layout.path())) continue;
        if (id != staged.spec.id) {
            DET_TRY_ASSIGN(staged, stage(contents, id, directory));
            if (path_exists(layout.path())) continue;
        }
        if (rename_own(directory, layout.path()) != 0) {
            if (errno == ENOTEMPTY || errno == EEXIST) continue;
            return os_error(fmt::format("rename '{}' to '{}'", directory.string(), layout.path().string()),
                            errno);
        }
        cleanup.add(layout.path());
        staged.layout = layout;
        for (auto& script : staged.scripts) script.path = layout.script(script.array.first_trial);
        syncs.add_directory(layout.path());
        syncs.add_directory(root.experiments());
        return staged;
    }
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

/// Waits until the files of the experiment are on the disk, then records the numbers of the jobs.
Status record_created(SubmissionRequest const& request, RenderedExperiment const& experiment,
                      std::vector<ArrayJob> const& jobs, Context& context, SyncThread& syncs) {
    DET_TRY(syncs.join());
    DET_TRY(record_root_format(request.root));
    Event const created{std::string(event_kinds::created), context.clock.now(),
                        event_author(context.environment), jobs_body(jobs)};
    return journal::append_event(experiment.layout.events(), created, &syncs);
}

/// Records the numbers of the held jobs, then releases them, unless the experiment is created paused. The
/// name of the record is synced while Slurm releases the jobs: if the power fails before it is on the disk,
/// there is no record, and the jobs are found by their comment.
Status record_and_release(SubmissionRequest const& request, RenderedExperiment const& experiment,
                          std::vector<ArrayJob> const& held, Context& context, SyncThread& syncs) {
    DET_TRY(record_created(request, experiment, held, context, syncs));
    if (request.desired != DesiredState::pause) {
        for (auto const& array : held) DET_TRY(context.slurm.release({array.job, {}}));
    }
    return syncs.join();
}

Result<CreatedExperiment> release(SubmissionRequest const& request, RenderedExperiment const& experiment,
                                  std::vector<ArrayJob> const& held, Context& context, SyncThread& syncs) {
    auto const id = experiment.spec.id;
    if (auto released = record_and_release(request, experiment, held, context, syncs); !released) {
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

ContextSpec describe_packed(pack::ContextTree const& tree, pack::PackedTree const& archive) {
    bool const has_hook = std::any_of(tree.members.begin(), tree.members.end(),
                                      [](auto const& member) { return member.path == "startup-hook.sh"; });
    return {archive.sha256(), tree.size_bytes, has_hook};
}

/// \param syncs may be null
Status store_code(pack::PackedTree archive, fs::path const& contexts, Context& context, SyncThread* syncs) {
    DET_TRY_ASSIGN(auto const packed, archive.store(syncs));
    if (packed.was_repaired)
        context.on_message(fmt::format("'{}' was damaged; it is whole again",
                                       (contexts / (packed.sha256 + ".tar.zst")).string()));
    return Ok{};
}

/// What is written while Slurm is asked: the packed code, if the request has any, and the staged experiment.
struct Prepared {
    Contents contents;
    std::optional<pack::PackedTree> archive;
    RenderedExperiment staged;
};

Result<Prepared> prepare(SubmissionRequest const& request, std::optional<pack::ContextTree> const& code,
                         Context& context, Cleanup& cleanup) {
    std::optional<pack::PackedTree> archive;
    Contents contents{request,
                      {},
                      plan_arrays(request, request.tasks_max),
                      {user_name(context.environment), context.clock.now()}};
    if (code) {
        DET_TRY_ASSIGN(auto packed, pack::pack_tree(*code, request.root.contexts()));
        contents.code = describe_packed(*code, packed);
        archive.emplace(std::move(packed));
    } else {
        DET_TRY_ASSIGN(contents.code, require_stored_code(request));
    }
    DET_TRY_ASSIGN(auto staged, stage_next(contents, cleanup));
    if (request.desired != DesiredState::pause) context.slurm.prepare_release();
    return Prepared{std::move(contents), std::move(archive), std::move(staged)};
}

/// Gives the prepared files their names. Stages them again if Slurm accepts other arrays than were planned.
Result<RenderedExperiment> publish(Prepared prepared, std::vector<ArrayJob> const& accepted, Context& context,
                                   Cleanup& cleanup, SyncThread& syncs) {
    auto& [contents, archive, staged] = prepared;
    auto const& root = contents.request.root;
    if (accepted != contents.arrays) {
        contents.arrays = accepted;
        DET_TRY_ASSIGN(staged, stage(contents, staged.spec.id, staged.layout.path()));
    }
    if (archive) DET_TRY(store_code(*std::move(archive), root.contexts(), context, &syncs));
    if (contents.code) DET_TRY(share_code(root, contents.code->sha256));
    return place(std::move(staged), contents, cleanup, syncs);
}

}  // namespace

Result<std::optional<ContextSpec>, Diagnostics> pack_code(pack::ContextSources const& sources,
                                                          fs::path const& contexts, Context& context) {
    DET_TRY_ASSIGN(auto const code, list_code(sources, GroupWritePolicy::warned, {}, context));
    if (!code) return std::optional<ContextSpec>();
    context.on_warnings(code->warnings);
    context.on_message("code: " + describe_code(*code));
    DET_TRY_ASSIGN(auto packed, pack::pack_tree(*code, contexts));
    auto spec = describe_packed(*code, packed);
    DET_TRY(store_code(std::move(packed), contexts, context, nullptr));
    return std::optional(std::move(spec));
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
    // Directories are synced while Slurm takes the jobs, held, which are released only afterwards
    // (record_created).
    SyncThread syncs;
    DET_TRY(prepare_root(request, context));
    Background<Result<Prepared>> preparation("det-prepare",
                                             [&] { return prepare(request, code, context, cleanup); });
    DET_TRY_ASSIGN(auto accepted, plan_accepted_arrays(request, context));
    DET_TRY_ASSIGN(auto prepared, preparation.join());
    DET_TRY_ASSIGN(auto const written,
                   publish(std::move(prepared), accepted.arrays, context, cleanup, syncs));
    DET_TRY_ASSIGN(auto const held, submit_held(request, written, context, cleanup));
    DET_TRY_ASSIGN(auto created, release(request, written, held, context, syncs));
    created.expected_start = std::move(accepted.expected_start);
    return created;
}

Result<CreatedExperiment> create_for_running_job(SubmissionRequest const& request, ArrayJob const& array,
                                                 Context& context) {
    Cleanup cleanup(request.root);
    SyncThread syncs;
    DET_TRY(prepare_root(request, context));
    Contents const contents{request, {}, {array}, {user_name(context.environment), context.clock.now()}};
    DET_TRY_ASSIGN(auto staged, stage_next(contents, cleanup));
    DET_TRY_ASSIGN(auto const written, place(std::move(staged), contents, cleanup, syncs));
    DET_TRY(record_created(request, written, {array}, context, syncs));
    DET_TRY(syncs.join());
    slurm::JobChange change;
    change.comment = job_comment(request.root, written.spec.id);
    change.is_requeueable = true;
    DET_TRY(context.slurm.update_job({array.job, {}}, change));
    cleanup.keep();
    run_hook_for_submission(written.spec, {array}, context);
    return CreatedExperiment{written.spec.id, {array.job}, written.layout.path()};
}

}  // namespace det::experiment
