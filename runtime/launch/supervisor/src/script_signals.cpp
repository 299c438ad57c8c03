#include "script_signals.hpp"

#include <det/foundation/text.hpp>

#include <string_view>

namespace det::launch::supervisor {

sigset_t script_signals() {
    sigset_t signals;
    ::sigfillset(&signals);
    for (int const other : {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGABRT, SIGTRAP, SIGSYS, SIGCHLD, SIGPIPE,
                            SIGTTIN, SIGTTOU, SIGTSTP, SIGCONT, SIGURG})
        ::sigdelset(&signals, other);
    return signals;
}

std::optional<std::chrono::seconds> find_warning_time(std::vector<std::string> const& sbatch_options) {
    constexpr std::string_view option = "--signal=";
    constexpr std::int64_t slurms_default = 60;
    std::optional<std::chrono::seconds> found;
    for (auto const& text : sbatch_options) {
        if (!text.starts_with(option)) continue;
        // "B:USR1@90", and since Slurm 21.08 "BR:" with reservations. The last option counts.
        auto const value = std::string_view(text).substr(option.size());
        auto const flags = value.substr(0, value.find(':') == std::string_view::npos ? 0 : value.find(':'));
        auto const at = value.find('@');
        found.reset();
        if (flags.find('B') == std::string_view::npos) continue;
        auto const time =
            at == std::string_view::npos ? std::nullopt : parse_integer<std::int64_t>(value.substr(at + 1));
        found = std::chrono::seconds(time.value_or(slurms_default));
    }
    return found;
}

}  // namespace det::launch::supervisor
