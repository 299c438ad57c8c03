#include <det/foundation/process.hpp>
#include <det/placement/place.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/step_run.hpp>
#include <det/wrap_rank/wrapper.hpp>

#include <fmt/format.h>

namespace det::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "work";

}  // namespace

Result<CommandEnd> run_wrapped(Job job, Environment environment, fs::path const& helper, Clock const& clock) {
    environment.unset(variables::wrapped_command);
    VariableLookup const lookup = [&](std::string_view name) { return environment.find(name); };
    auto const task = identify_task(lookup);
    auto const key = task ? std::optional(task_key(*task)) : std::nullopt;
    bool const in_run = task && find_step_kind(*task, lookup) != StepKind::foreign;
    // Only a supervisor can take what ranks do on a notice for what it is: a script's commands get TERM
    // itself.
    bool const supervised = in_run && environment.find_non_empty(variables::run_path);
    bool const placed = in_run && environment.find(variables::placed) == key;
    bool const labelled = key && environment.find(variables::wrapped) == key;
    if (job.level == Launch::rank ? labelled : placed) return replace_process(job.command, environment);

    RelayedCommand command{std::move(job.command), {}, {}, {}, block_relayed_signals(), {}};
    std::optional<placement::NodeDirectory>
        directory;  // this task's share of it, until the command has ended
    if (in_run && !placed) {
        DET_TRY_ASSIGN(auto taken, placement::take_place(environment, *task, job.level, helper));
        directory.emplace(std::move(taken));
        auto const work = directory->path() / work_directory;
        if (path_exists(work)) {
            command.directory = work;
            environment.set("PWD", work);
        }
    }
    std::optional<preemption::NoticePage> notice;
    if (supervised) {
        fs::path const run_dir = environment.find(variables::run_dir).value_or("");
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(run_dir / preemption::notice_file));
        notice.emplace(std::move(page));
        command.on_notice = [&] { notice->raise(clock.now()); };
    }
    if (job.level == Launch::rank) {
        command.labels.prefix = fmt::format("[rank={}] ", job.rank);
        if (key) environment.set(variables::wrapped, *key);
    }
    if (auto const log = environment.find_non_empty(variables::rank_log)) command.labels.log = *log;
    command.environment = std::move(environment);
    return relay(command, clock);
}

}  // namespace det::wrap_rank
