#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/reader.hpp>
#include <det/launch/supervisor/job_output.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

constexpr std::size_t file_limit_bytes = std::size_t{2} << 20;  // of the output, and of each log
constexpr std::size_t time_size_bytes = 27;  // of format_utc(), which begins the lines of logs
constexpr std::string_view own_mark = " det-launch: ";
// Ends a line of a log that is incomplete: the missing lines may be in the output.
constexpr std::string_view gap_remark = " lines are missing here";
// Each srun prints it on a site without task plugins for CPUs (Slurm 22.05 to 26.05).
constexpr std::string_view usual_srun_line = "srun: cluster configuration lacks support for cpu binding";

/// The text of a line of the supervisor; empty for another line.
std::string_view own_text(std::string_view line) {
    if (line.size() < time_size_bytes || !line.substr(time_size_bytes).starts_with(own_mark)) return {};
    return line.substr(time_size_bytes + own_mark.size());
}

/// The run of a line "run 7.3.2 `verb`..."
std::optional<RunInOutput> parse_run(std::string_view text, ExperimentId experiment, std::string_view verb) {
    auto const prefix = fmt::format("run {}.", experiment.value);
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    auto const end = text.find(' ');
    if (end == std::string_view::npos || !text.substr(end + 1).starts_with(verb)) return std::nullopt;
    auto const numbers = split(text.substr(0, end), '.');
    if (numbers.size() != 2) return std::nullopt;
    auto const trial = parse_integer<std::uint32_t>(numbers[0]);
    auto const number = parse_integer<std::uint32_t>(numbers[1]);
    if (!trial || !number) return std::nullopt;
    return RunInOutput{*trial, *number};
}

std::optional<RunInOutput> parse_begin(std::string_view line, ExperimentId experiment) {
    return parse_run(own_text(line), experiment, "begins on ");
}

std::optional<RunInOutput> parse_good_end(std::string_view line, ExperimentId experiment) {
    for (auto const cause : {Cause::finished, Cause::stopped_by_search}) {
        if (line.ends_with(fmt::format(" ({}, {})", to_string(cause), to_string(NextAction::stop))))
            return parse_run(own_text(line), experiment, "ended: ");
    }
    return std::nullopt;
}

/// A line that says nothing about a job that ended well. The request of a search is a decision in the
/// journal.
bool is_usual(std::string_view line, ExperimentId experiment) {
    return line == usual_srun_line || own_text(line) == nothing_left_line ||
           parse_run(own_text(line), experiment, "has its files: ") ||
           parse_run(own_text(line), experiment, "is asked to stop (search)");
}

/// Removes the lines that the logs of the nodes of a run have.
/// \return false if a log can't be read or is not complete
bool remove_lines_of_run(OutputLines& lines, RunLayout const& run) {
    auto const names = list_directory(run.path());
    if (!names) return false;
    return std::ranges::all_of(*names, [&](auto const& name) {
        if (!name.starts_with("node-") || !name.ends_with(".log")) return true;
        auto const log = read_trusted_file(run.path() / name, file_limit_bytes);
        return log && remove_lines_of_log(lines, *log);
    });
}

/// Whether this incarnation of the job began the run. If Slurm has requeued the job, a supervisor that was
/// cut off reads the output of the next one: Slurm truncates the file.
bool is_own_run(BatchJob const& batch_job, RunLayout const& run) {
    auto const life = journal::load_journal(run.supervisor_journal());
    return life && std::ranges::any_of(life->records, [&](Record const& record) {
               auto const* started = std::get_if<RunStarted>(&record);
               return started && started->job == slurm::to_string(batch_job.job) &&
                      started->restart_count == batch_job.incarnation.restart_count;
           });
}

/// Whether the path is standard output, and the file has this size.
bool is_standard_output(std::filesystem::path const& path, std::size_t size_bytes) {
    struct stat named {
    }, open{};
    return ::lstat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &open) == 0 &&
           S_ISREG(named.st_mode) && named.st_dev == open.st_dev && named.st_ino == open.st_ino &&
           static_cast<std::size_t>(open.st_size) == size_bytes;
}

}  // namespace

std::vector<RunInOutput> find_runs(std::string_view output, ExperimentId experiment) {
    std::vector<RunInOutput> runs;
    for (auto const line : split_lines(output)) {
        if (auto const run = parse_begin(line, experiment)) runs.push_back(*run);
    }
    return runs;
}

std::optional<OutputLines> find_other_lines(std::string_view output, ExperimentId experiment) {
    OutputLines others;
    std::set<std::pair<std::uint32_t, std::uint32_t>> running;
    for (auto const line : split_lines(output)) {
        if (auto const begun = parse_begin(line, experiment)) {
            running.insert({begun->trial, begun->number});
        } else if (auto const ended = parse_good_end(line, experiment)) {
            if (running.erase({ended->trial, ended->number}) == 0) return std::nullopt;
        } else if (!is_usual(line, experiment)) {
            others.insert(line);
        }
    }
    if (output.empty() || !running.empty()) return std::nullopt;
    return others;
}

bool remove_lines_of_log(OutputLines& lines, std::string_view log) {
    constexpr std::string_view label = "[rank=";
    for (auto line : split_lines(log)) {
        if (line.ends_with(gap_remark)) return false;
        if (line.size() <= time_size_bytes) continue;
        line.remove_prefix(time_size_bytes + 1);
        lines.erase(line);
        // The output has the label if the step has labels.
        auto const end = line.find("] ");
        if (line.starts_with(label) && end != std::string_view::npos) lines.erase(line.substr(end + 2));
    }
    return true;
}

void remove_repeated_output(BatchJob const& batch_job) {
    auto const path = batch_job.experiment.slurm_output(slurm::to_string(batch_job.job));
    auto const output = read_trusted_file(path, file_limit_bytes);
    if (!output) return;
    auto lines = find_other_lines(*output, batch_job.spec.id);
    if (!lines) return;
    for (auto const& run : find_runs(*output, batch_job.spec.id)) {
        auto const layout = batch_job.experiment.trial(run.trial).run(run.number);
        if (!is_own_run(batch_job, layout) || !remove_lines_of_run(*lines, layout)) return;
    }
    // slurmstepd may have added a line meanwhile.
    if (lines->empty() && is_standard_output(path, output->size())) ::unlink(path.c_str());
}

}  // namespace det::launch::supervisor
