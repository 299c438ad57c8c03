#pragma once
#include <optional>
#include <string>

namespace det::launch::launchers {

/// What was seen of a launch: the facts that its exit code follows from.
struct LaunchFacts {
    int launcher_exit = 0;                // the highest, where several processes were started
    std::optional<int> first_failure;     // exit code of the first worker that failed
    bool was_ordered_to_end = false;      // a worker, by TERM: a launcher ends those beside one that failed
    std::optional<std::string> vanished;  // the first that went without a goodbye
    std::optional<int> remote_failure;    // the first non-zero exit code of a command on another node
    bool is_share_remote = false;  // such a command is a share of the launch: its failure is the launch's
    int unfinished = 0;            // workers that were still there when the launcher had ended
};

struct Verdict {
    int exit_code = 0;
    std::string reason;  // empty where all went well
};

/// The launcher contract: the code of the worker that failed first; zero only after all are zero; a worker
/// that vanishes has failed. Pure.
Verdict judge_launch(LaunchFacts const& facts);

}  // namespace det::launch::launchers
