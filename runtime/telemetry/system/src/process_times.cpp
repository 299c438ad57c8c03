#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/telemetry/system/process_times.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace det::telemetry {
namespace {

/// Whether a program is one of det-submit's or Slurm's, which run as long as the run does. All that their
/// children have used is added to them at the end only, and is not counted either.
bool belongs_to_no_rank(std::string_view name) {
    constexpr std::string_view names[] = {"det-wrap-rank", "det-launch", "det-batch", "det-rsh",
                                          "slurmstepd"};
    return std::ranges::find(names, name) != std::end(names);
}

bool is_stopped_state(char state) { return state == 'T' || state == 't'; }

}  // namespace

std::optional<ProcessTimes> parse_process_times(std::string_view text) {
    // pid (name) state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt utime stime cutime
    // cstime priority nice num_threads itrealvalue starttime
    constexpr std::size_t state = 0, parent = 1, user = 11, awaited_system = 14, start = 19;
    auto const open = text.find('('), close = text.rfind(')');
    if (open == text.npos || close == text.npos || close < open) return std::nullopt;
    auto const pid = parse_integer<pid_t>(trim(text.substr(0, open)));
    auto const words = split(trim(text.substr(close + 1)), ' ');
    if (!pid || words.size() <= start || words[state].size() != 1) return std::nullopt;
    auto const parent_pid = parse_integer<pid_t>(words[parent]);
    auto const start_tick = parse_integer<std::uint64_t>(words[start]);
    if (!parent_pid || !start_tick) return std::nullopt;
    ProcessTimes times{
        *pid, *parent_pid, std::string(text.substr(open + 1, close - open - 1)), words[state].front(),
        0,    *start_tick};
    for (auto i = user; i <= awaited_system; ++i)
        times.cpu_ticks += parse_integer<std::uint64_t>(words[i]).value_or(0);
    return times;
}

RunCpuTime RunCpuSum::add(std::span<ProcessTimes const> processes, std::set<pid_t> const& started_for_run) {
    std::map<pid_t, pid_t> parents;
    for (auto const& process : processes) parents.emplace(process.pid, process.parent);
    auto const belongs = [&](pid_t pid) {
        // A snapshot of a changing tree might contain a cycle.
        for (std::size_t steps = 0; steps <= parents.size(); ++steps) {
            if (started_for_run.contains(pid)) return true;
            auto const parent = parents.find(pid);
            if (parent == parents.end()) return false;
            pid = parent->second;
        }
        return false;
    };
    bool is_stopped = false;
    std::map<std::pair<pid_t, std::uint64_t>, std::uint64_t> living;
    for (auto const& process : processes) {
        if (belongs_to_no_rank(process.name) || !belongs(process.pid)) continue;
        std::pair const key(process.pid, process.start_tick);
        auto const before = seen_.find(key);
        auto const seen_ticks = before == seen_.end() ? 0 : before->second;
        ticks_ += process.cpu_ticks - std::min(process.cpu_ticks, seen_ticks);
        living.emplace(key, process.cpu_ticks);
        is_stopped = is_stopped || is_stopped_state(process.state);
    }
    seen_ = std::move(living);
    return {ticks_, is_stopped};
}

RunCpuTime RunProcesses::read() {
    std::vector<ProcessTimes> processes;
    std::map<pid_t, std::uint64_t> known;
    std::set<pid_t> of_run;
    for (auto const& name : list_directory(proc_).value_or(std::vector<std::string>())) {
        if (!parse_integer<pid_t>(name)) continue;
        auto const text = read_file(proc_ / name / "stat");
        auto process = text ? parse_process_times(*text) : std::nullopt;
        if (!process) continue;  // it has just ended
        auto const before = known_.find(process->pid);
        bool const is_known = before != known_.end() && before->second == process->start_tick;
        if (is_known || has_variable(process->pid)) {
            known.emplace(process->pid, process->start_tick);
            of_run.insert(process->pid);
        }
        processes.push_back(*std::move(process));
    }
    known_ = std::move(known);
    return sum_.add(processes, of_run);
}

/// Processes of other users can't be read, and are none of the run.
bool RunProcesses::has_variable(pid_t pid) const {
    auto const environment = read_file(proc_ / std::to_string(pid) / "environ");
    return environment && std::ranges::any_of(split(*environment, '\0'),
                                              [&](auto variable) { return variable == variable_; });
}

}  // namespace det::telemetry
