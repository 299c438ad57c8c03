// What the supervisor knows of the text of a batch script: whether another job continues it.
//
// A batch script may submit its successor, `sbatch job.sbatch`, before it ends. Then its trial is not
// finished. Slurm does not say which job has submitted another one. So a job is the successor if it runs the
// same text and was submitted after the run began, by a process of this job: slurmctld knows the host and the
// session in which sbatch was called.
#include "own_script.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/slurm/experiment_comment.hpp>

#include <algorithm>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

// slurmctld counts seconds, and its clock may be another one than that of the node.
constexpr std::int64_t clock_difference_us = 5'000'000;

/// Slurm ends the text with a newline and a null byte.
std::string_view without_end(std::string_view text) {
    auto const last = text.find_last_not_of(std::string_view("\n\0", 2));
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

std::string_view arguments_of(std::string_view command) {
    auto const blank = command.find(' ');
    return blank == std::string_view::npos ? std::string_view() : command.substr(blank + 1);
}

/// Whether the script gives its successor variables, which a requeue would not.
bool passes_variables(std::string_view script) {
    for (auto const line : split_lines(script)) {
        bool const submits = line.find("sbatch ") != std::string_view::npos && !trim(line).starts_with('#');
        if (submits && line.find("--export") != std::string_view::npos) return true;
    }
    return false;
}

bool may_be_successor(slurm::JobStatus const& job, slurm::JobRef const& own, UtcTime run_began) {
    bool const is_new =
        job.submit_time && job.submit_time->microseconds >= run_began.microseconds - clock_difference_us;
    return is_new && job.ref.job != own.job && !slurm::is_over(job.state) &&
           !slurm::parse_experiment_comment(job.comment);
}

}  // namespace

std::optional<OwnScript> load_own_script(BatchJob const& batch_job) {
    auto const copy = batch_job.experiment.batch_script().string();
    auto const& argv = batch_job.spec.entrypoint;
    auto const found = std::ranges::find(argv, copy);
    auto text = found == argv.end() ? Result<std::string>(Error{codes::no_such_file, copy}) : read_file(copy);
    if (!text) return std::nullopt;
    return OwnScript{*std::move(text), join({found + 1, argv.end()}, " ")};
}

void remove_own_open_mode(Environment& environment, BatchJob const& batch_job) {
    if (!batch_job.job.task) return;  // a job of sbatch alone has what its user has set
    auto const own = load_own_script(batch_job);
    if (own && own->text.find("--open-mode") == std::string::npos) environment.unset("SLURM_OPEN_MODE");
}

bool is_successor(slurm::JobScript const& of_job, OwnScript const& own, JobPlace const& here) {
    auto const nodes = expand_host_list(here.hosts);
    bool const is_on_node = nodes && std::ranges::find(*nodes, of_job.submit_host) != nodes->end();
    bool const is_in_session = of_job.submit_session > 0 && of_job.submit_session == here.session;
    return (is_on_node || is_in_session) && without_end(of_job.text) == without_end(own.text);
}

bool is_replaceable(slurm::JobStatus const& job, slurm::JobScript const& of_job, OwnScript const& own) {
    return job.state == slurm::JobState::pending && arguments_of(of_job.command) == own.arguments &&
           !passes_variables(own.text);
}

Result<std::optional<SuccessorJob>> find_successor(BatchJob const& batch_job, UtcTime run_began,
                                                   slurm::SlurmClient& slurm) {
    auto const own = load_own_script(batch_job);
    if (!own) return std::optional<SuccessorJob>();
    DET_TRY_ASSIGN(auto const jobs, slurm.query_queue({.user = batch_job.spec.owner}));
    for (auto const& job : jobs) {
        if (!may_be_successor(job, batch_job.job, run_began)) continue;
        auto const script = slurm.query_script(job.ref);
        if (script && is_successor(*script, *own, {batch_job.hosts, ::getsid(0)}))
            return std::optional(SuccessorJob{job.ref, is_replaceable(job, *script, *own)});
    }
    return std::optional<SuccessorJob>();
}

}  // namespace det::launch::supervisor
