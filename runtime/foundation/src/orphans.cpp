#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/orphans.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det {
namespace {

constexpr std::size_t stat_max_bytes = 4096;

/// The parent in /proc/PID/stat: "12 (a name) S 11 ...". The name may contain any character.
std::optional<pid_t> parent_of(std::uint32_t process) {
    auto const text = read_file(fmt::format("/proc/{}/stat", process), stat_max_bytes);
    if (!text) return std::nullopt;
    auto const name_end = text->rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    auto const fields = split(std::string_view(*text).substr(name_end + 1), ' ');  // "", state, parent ...
    return fields.size() > 2 ? parse_integer<pid_t>(fields[2]) : std::nullopt;
}

/// Children of all threads, as /proc lists them for each. nullopt if the kernel has no such lists.
std::optional<std::vector<pid_t>> list_children() {
    std::vector<pid_t> children;
    for (auto const thread : list_numeric_names("/proc/self/task").value_or(std::vector<std::uint32_t>())) {
        auto const text = read_file(fmt::format("/proc/self/task/{}/children", thread));
        if (!text && text.error().code == codes::no_such_file && thread == static_cast<unsigned>(::getpid()))
            return std::nullopt;
        auto const list = text.value_or("");
        for (auto const word : split(list, ' ')) {
            if (auto const child = parse_integer<pid_t>(word)) children.push_back(*child);
        }
    }
    return children;
}

std::vector<pid_t> find_children() {
    if (auto listed = list_children()) return *std::move(listed);
    std::vector<pid_t> children;
    for (auto const process : list_numeric_names("/proc").value_or(std::vector<std::uint32_t>())) {
        if (parent_of(process) == ::getpid()) children.push_back(static_cast<pid_t>(process));
    }
    return children;
}

bool is_by_term(int wait_status) { return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM; }

}  // namespace

Orphans::Orphans() : own_(find_children()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::optional<int> Orphans::end_after_notice(int command) {
    if (!is_by_term(command)) return command;
    if (reap()) return std::nullopt;
    if (failed_) return failed_;
    return succeeded_ ? succeeded_ : command;
}

std::vector<pid_t> Orphans::list() const {
    auto orphans = find_children();
    std::erase_if(orphans, [&](auto const child) { return std::ranges::find(own_, child) != own_.end(); });
    return orphans;
}

bool Orphans::reap() {
    bool any_runs = false;
    for (auto const child : list()) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) != child) {
            any_runs = true;
            continue;
        }
        if (status == 0) succeeded_ = status;
        if (status != 0 && !is_by_term(status) && !failed_) failed_ = status;
    }
    return any_runs;
}

}  // namespace det
