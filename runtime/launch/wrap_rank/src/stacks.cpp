#include "stacks.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/find_program.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/forward_signals.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

using Reaction = ProcessView::Reaction;
using Predicate = std::function<bool(ProcessView const&)>;

// The supervisor kills the step 15 s after it has asked for the stacks.
constexpr std::chrono::seconds debugger_timeout{10};

bool is_shell(ProcessView const& process) {
    constexpr std::array<std::string_view, 8> names{"sh",  "bash", "dash", "zsh",
                                                    "ksh", "env",  "time", "timeout"};
    return std::ranges::find(names, process.name) != names.end();
}

class Tree {
public:
    explicit Tree(std::span<ProcessView const> processes) {
        for (auto const& process : processes) {
            by_pid_[process.pid] = &process;
            if (process.parent != process.pid) children_[process.parent].push_back(&process);
        }
    }
    ProcessView const* find(pid_t pid) const {
        auto const found = by_pid_.find(pid);
        return found == by_pid_.end() ? nullptr : found->second;
    }
    /// The topmost processes on each branch for which the predicate holds.
    std::vector<ProcessView const*> topmost(ProcessView const& top, Predicate const& holds) const {
        if (holds(top)) return {&top};
        std::vector<ProcessView const*> found;
        for (auto const* child : children_of(top)) {
            auto const below = topmost(*child, holds);
            found.insert(found.end(), below.begin(), below.end());
        }
        return found;
    }
    std::vector<ProcessView const*> children_of(ProcessView const& process) const {
        auto const found = children_.find(process.pid);
        return found == children_.end() ? std::vector<ProcessView const*>() : found->second;
    }

private:
    std::map<pid_t, ProcessView const*> by_pid_;
    std::map<pid_t, std::vector<ProcessView const*>> children_;
};

std::string describe(StackTarget const& target) {
    return fmt::format("process {} ({})", target.pid, target.name);
}

/// The line of an error message that names the reason.
std::string find_reason(std::string_view text) {
    std::string last;
    for (auto const line : split_lines(text)) {
        if (line.find("ptrace") != std::string_view::npos) return std::string(trim(line));
        if (!trim(line).empty()) last = trim(line);
    }
    return last.empty() ? "it printed nothing" : last;
}

Command debugger_command(std::string_view debugger, pid_t pid, Environment const& environment) {
    Command command;
    auto const number = std::to_string(pid);
    if (debugger == "gdb") {
        command.argv = {"gdb",
                        "-nx",
                        "-batch",
                        "-iex",
                        "set auto-load no",
                        "-iex",
                        "set debuginfod enabled off",
                        "-p",
                        number,
                        "-ex",
                        "thread apply all backtrace"};
    } else {
        command.argv = {std::string(debugger), "-p", number};
    }
    command.environment = environment;
    command.timeout = debugger_timeout;
    return command;
}

void print(std::string const& text) { (void)write_all(STDOUT_FILENO, text, "stacks"); }

}  // namespace

std::vector<StackTarget> choose_stack_targets(std::span<ProcessView const> processes, pid_t root,
                                              bool may_signal) {
    Tree const tree(processes);
    auto const* top = tree.find(root);
    if (top == nullptr) return {};
    auto programs = tree.topmost(*top, [](auto const& each) { return each.is_rank && !each.is_ours; });
    if (programs.empty()) programs.push_back(top);
    std::array<Predicate, 3> const preferences{
        [&](ProcessView const& each) { return may_signal && each.reaction == Reaction::caught; },
        [](ProcessView const& each) { return !each.is_ours && !is_shell(each); },
        [&](ProcessView const& each) { return !each.is_ours && tree.children_of(each).empty(); }};
    std::vector<StackTarget> targets;
    for (auto const* program : programs) {
        for (auto const& is_wanted : preferences) {
            auto const found = tree.topmost(*program, is_wanted);
            for (auto const* each : found)
                targets.push_back({each->pid, each->name, may_signal && each->reaction == Reaction::caught});
            if (!found.empty()) break;
        }
    }
    return targets;
}

std::string describe_stack(StackTarget const& target, std::string_view debugger,
                           std::optional<ProcessOutput> const& output) {
    if (!output)
        return fmt::format("det-submit: no stack of {}: {} took longer than {} s\n", describe(target),
                           debugger, debugger_timeout.count());
    std::string frames;
    for (auto const line : split_lines(output->out)) {
        bool const begins = line.starts_with("Thread ") || line.starts_with("TID ") || line.starts_with("#0");
        if ((frames.empty() && !begins) || line.starts_with("[Inferior ")) continue;
        frames.append(line).push_back('\n');
    }
    if (frames.find("#0") == std::string::npos)
        return fmt::format("det-submit: no stack of {}: {}: {}\n", describe(target), debugger,
                           find_reason(output->err.empty() ? output->out : output->err));
    return fmt::format("det-submit: the stack of {}, by {}:\n{}", describe(target), debugger, frames);
}

void print_stacks(pid_t root, Environment environment) {
    auto const notices = parse_forward_signals(environment.find(variables::forward_signals).value_or(""));
    bool const may_signal = std::ranges::find(notices, SIGUSR1) == notices.end();
    for (auto const* name : {"PYTHONPATH", "PYTHONHOME", "LD_PRELOAD"}) environment.unset(name);
    std::string_view debugger;
    for (std::string_view const name : {"gdb", "eu-stack"}) {
        if (debugger.empty() && find_program(name, environment)) debugger = name;
    }
    std::vector<StackTarget> traced;
    for (auto const& target : choose_stack_targets(read_process_tree(root, SIGUSR1), root, may_signal)) {
        if (target.by_signal) {
            print(fmt::format("det-submit: {} prints its stack on SIGUSR1\n", describe(target)));
            ::kill(target.pid, SIGUSR1);
        } else if (debugger.empty()) {
            print(
                fmt::format("det-submit: no stack of {}: it has no handler of SIGUSR1, and neither gdb nor "
                            "eu-stack is installed\n",
                            describe(target)));
        } else {
            traced.push_back(target);
        }
    }
    std::vector<Command> commands;
    for (auto const& target : traced) commands.push_back(debugger_command(debugger, target.pid, environment));
    auto const outputs = SystemProcessRunner().run_all(commands);
    for (std::size_t i = 0; i < traced.size(); ++i)
        print(describe_stack(traced[i], debugger, outputs[i] ? std::optional(*outputs[i]) : std::nullopt));
}

}  // namespace det::launch::wrap_rank
