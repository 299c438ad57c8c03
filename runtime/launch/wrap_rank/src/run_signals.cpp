#include "run_signals.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>

#include <csignal>
#include <string_view>

namespace det::launch::wrap_rank {
namespace {

struct NamedSignal {
    std::string_view name;
    int number;
};
constexpr NamedSignal named_signals[] = {
    {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

std::set<int> parse_signals(std::string_view list) {
    std::set<int> numbers;
    for (auto const& name : split(list, ',')) {
        for (auto const& known : named_signals) {
            if (known.name == name) numbers.insert(known.number);
        }
    }
    return numbers;
}

}  // namespace

Result<RunSignals> RunSignals::open(Environment const& environment) {
    std::filesystem::path const run_dir = environment.find(variables::run_dir).value_or("");
    DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(run_dir / preemption::notice_file));
    RunLayout const run(environment.find(variables::run_path).value_or(""));
    return RunSignals(std::move(page), run.asked(),
                      parse_signals(environment.find(variables::forward_signals).value_or("")));
}

bool RunSignals::take(int signal, Clock const& clock) {
    if (signal == SIGTERM) {
        page_.raise(clock, preemption::NoticePage::By::slurm);
    } else if (signal == SIGUSR2) {
        // The signal is for this run if the supervisor has created the file; otherwise it was meant for
        // another run but sent to every process of the job.
        if (path_exists(asked_)) page_.raise(clock, preemption::NoticePage::By::supervisor);
    } else {
        return false;
    }
    return !forwarded_.contains(signal);
}

void RunSignals::block_withheld(sigset_t& mask) const {
    for (int const number : {SIGTERM, SIGUSR2}) {
        if (!forwarded_.contains(number)) ::sigaddset(&mask, number);
    }
}

}  // namespace det::launch::wrap_rank
