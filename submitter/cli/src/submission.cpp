#include "submission.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/files.hpp>
#include <det/plan/arrays.hpp>
#include <det/protocol/json.hpp>
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

Result<std::string> render_script(Creation const& creation, ExperimentId id, ArrayJob const& array) {
    return render::render_script(creation.job_template, creation.plan,
                                 {id,
                                  creation.config.name,
                                  ExperimentLayout(creation.root, id).path(),
                                  creation.det_launch,
                                  {array.first_trial, array.trial_count, array.running_max, array.lanes}});
}

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

Status write_secrets(ExperimentLayout const& layout, config::ExperimentConfig const& config) {
    auto const secrets = config::find_secrets(config.effective);
    if (!secrets) return Ok{};
    return write_file(layout.secrets(), to_line(yaml::to_json(*secrets)) + "\n", 0600);
}

/// One array, held.
Result<ArrayJob> submit_array(Creation const& creation, ExperimentLayout const& layout,
                              ExperimentSpec const& spec, ArrayJob const& array, Session& session) {
    auto const path = layout.script(array.first_trial);
    DET_TRY_ASSIGN(auto const script, render_script(creation, spec.id, array));
    DET_TRY(write_file(path, script));
    std::vector<std::string> options{"--hold"};
    options.insert(options.end(), spec.sbatch_options.begin(), spec.sbatch_options.end());
    auto submitted = array;
    DET_TRY_ASSIGN(submitted.job, session.slurm.submit({options, path, session.environment}));
    return submitted;
}

}  // namespace

std::vector<ArrayJob> planned_arrays(Creation const& creation) {
    auto const& plan = creation.plan;
    std::vector<ArrayJob> arrays;
    for (auto const& part : plan::split_into_arrays(
             {plan.trial_count, plan.concurrent_trials_max, plan.lanes}, creation.array_size_max))
        arrays.push_back({0, part.first_trial, part.trial_count, part.lanes, part.running_max});
    return arrays;
}

Result<std::string> preview_script(Creation const& creation, ExperimentId id) {
    return render_script(creation, id, planned_arrays(creation).front());
}

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

Result<std::optional<ContextSpec>> find_stored_code(Creation const& creation) {
    if (!creation.packed_code || path_exists(creation.root.context(creation.packed_code->sha256)))
        return creation.packed_code;
    return Error{codes::no_such_file,
                 fmt::format("the code is gone: there is no '{}'",
                             creation.root.context(creation.packed_code->sha256).string()),
                 "create the experiment anew from a directory"};
}

Status write_configuration(Creation const& creation, ExperimentLayout const& layout) {
    DET_TRY(write_file(layout.submitted(), creation.written));
    DET_TRY(write_file(layout.config(), yaml::render_yaml(config::mask_secrets(creation.config.effective))));
    return write_secrets(layout, creation.config);
}

Result<std::vector<ArrayJob>> submit_arrays(Creation const& creation, ExperimentLayout const& layout,
                                            ExperimentSpec const& spec, std::vector<ArrayJob> const& arrays,
                                            Session& session) {
    std::vector<ArrayJob> submitted;
    for (auto const& array : arrays) {
        auto job = submit_array(creation, layout, spec, array, session);
        if (job) {
            submitted.push_back(*std::move(job));
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

std::string list_jobs(std::vector<ArrayJob> const& arrays) {
    std::vector<std::uint32_t> jobs;
    for (auto const& array : arrays) jobs.push_back(array.job);
    return fmt::format("{}", fmt::join(jobs, ", "));
}

}  // namespace det::cli
