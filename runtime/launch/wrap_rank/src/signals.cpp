#include "signals.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

struct ProcessStat {
    std::string name;
    pid_t parent = 0;
};

/// /proc/PID/stat: "12 (a name) S 11 ...". The name may contain any character.
std::optional<ProcessStat> read_process(pid_t process) {
    auto const text = read_file(fmt::format("/proc/{}/stat", process), 4096);
    if (!text) return std::nullopt;
    auto const open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
    auto const fields = split(std::string_view(*text).substr(close + 1), ' ');  // "", state, parent ...
    auto const parent = fields.size() > 2 ? parse_integer<pid_t>(fields[2]) : std::nullopt;
    if (!parent) return std::nullopt;
    return ProcessStat{text->substr(open + 1, close - open - 1), *parent};
}

}  // namespace

sigset_t relayed_signals() {
    sigset_t set;
    ::sigfillset(&set);
    for (int const number :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE, SIGTTIN, SIGTTOU})
        ::sigdelset(&set, number);
    return set;
}

bool is_ancestor(pid_t process) {
    constexpr int generations_max = 64;
    pid_t ancestor = ::getppid();
    for (int i = 0; i < generations_max && ancestor > 1; ++i) {
        auto const line = read_process(ancestor);
        if (!line || line->name == "slurmstepd") return false;
        if (ancestor == process) return true;
        ancestor = line->parent;
    }
    return false;
}

bool is_in_foreground() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

}  // namespace det::launch::wrap_rank
