#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/process.hpp>

#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

#include "notice_delivery.hpp"

namespace det::launch::wrap_rank {

/// A process whose stack is wanted.
struct StackTarget {
    pid_t pid = 0;
    std::string name;
    bool by_signal = false;  // it has a handler of SIGUSR1, which prints its stack
    friend bool operator==(StackTarget const&, StackTarget const&) = default;
};

/// Chooses the processes whose stacks show where the ranks are. From each rank down, or from `root` if no
/// process is known to be a rank, chooses the topmost process on each branch that handles SIGUSR1. If none
/// does, chooses the topmost that is neither a shell nor a program of det-submit, else the processes without
/// children. Pure.
/// \param processes as read_process_tree() returns them for SIGUSR1
/// \param may_signal false: SIGUSR1 has another meaning for the program
std::vector<StackTarget> choose_stack_targets(std::span<ProcessView const> processes, pid_t root,
                                              bool may_signal);

/// The frames in what gdb or eu-stack has printed, or one sentence that says why there are none. Pure.
/// \param output nullopt: the program could not be started, or took too long
std::string describe_stack(StackTarget const& target, std::string_view debugger,
                           std::optional<ProcessOutput> const& output);

/// Prints the stacks of the processes that choose_stack_targets() chooses to standard output; debuggers get
/// ten seconds. Processes that handle SIGUSR1 get that signal and print their stacks themselves.
void print_stacks(pid_t root, Environment environment);

}  // namespace det::launch::wrap_rank
