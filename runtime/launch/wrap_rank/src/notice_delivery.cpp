#include "notice_delivery.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace det::launch::wrap_rank {
namespace {

using Reaction = ProcessView::Reaction;
using Children = std::map<pid_t, std::vector<ProcessView const*>>;

/// Adds the topmost processes of the branch for which `is_receiver` is true.
template <class Predicate>
void add_topmost(ProcessView const& process, Children const& children, Predicate is_receiver,
                 std::vector<pid_t>& found) {
    if (is_receiver(process)) {
        found.push_back(process.pid);
        return;
    }
    auto const below = children.find(process.pid);
    if (below == children.end()) return;
    for (auto const* child : below->second) add_topmost(*child, children, is_receiver, found);
}

/// The text after "NAME:\t" in /proc/PID/status.
std::string_view find_field(std::string_view status, std::string_view name) {
    for (auto const line : split_lines(status)) {
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
            return trim(line.substr(name.size() + 1));
    }
    return {};
}

/// Whether a mask like "0000000180014a07" contains the signal.
bool contains(std::string_view mask, int signal) {
    auto const nibble = static_cast<std::size_t>((signal - 1) / 4);
    if (nibble >= mask.size()) return false;
    char const digit = mask[mask.size() - 1 - nibble];
    int const value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    return (value >> ((signal - 1) % 4) & 1) != 0;
}

/// Whether a program with this name is one of det-submit's, which block the signals that they forward.
bool is_own_program(std::string_view name) {
    constexpr std::array<std::string_view, 3> launchers{"det-wrap-rank", "det-launch", "det-rsh"};
    return std::find(launchers.begin(), launchers.end(), name) != launchers.end();
}

Reaction reaction_of(std::string_view status, int signal) {
    if (is_own_program(find_field(status, "Name"))) return Reaction::none;
    if (contains(find_field(status, "SigBlk"), signal)) return Reaction::blocked;
    return contains(find_field(status, "SigCgt"), signal) ? Reaction::caught : Reaction::none;
}

/// Whether the environment with which the process was started fulfils the predicate for one of its variables,
/// which it gets as "NAME=VALUE".
template <class Predicate>
bool any_variable(pid_t process, Predicate predicate) {
    auto const environment = read_file(fmt::format("/proc/{}/environ", process));
    return environment && std::ranges::any_of(split(*environment, '\0'), predicate);
}

bool is_rank(pid_t process) {
    return any_variable(process, [](std::string_view variable) {
        return variable.starts_with("LOCAL_RANK=") || variable.starts_with("OMPI_COMM_WORLD_LOCAL_RANK=") ||
               variable.starts_with("HOROVOD_LOCAL_RANK=");
    });
}

bool is_srun(ProcessView const& process) { return process.name == "srun"; }

std::optional<ProcessView> read_process(pid_t process, int signal) {
    auto const status = read_file(fmt::format("/proc/{}/status", process));
    if (!status) return std::nullopt;
    auto const parent = parse_integer<pid_t>(find_field(*status, "PPid"));
    if (!parent) return std::nullopt;
    auto const name = find_field(*status, "Name");
    return ProcessView{process, *parent,           reaction_of(*status, signal),
                       false,   std::string(name), is_own_program(name)};
}

Children children_of(std::span<ProcessView const> processes) {
    Children children;
    for (auto const& process : processes) children[process.parent].push_back(&process);
    return children;
}

bool has_ranks_below(ProcessView const& process, Children const& children) {
    auto const below = children.find(process.pid);
    if (below == children.end()) return false;
    return std::ranges::any_of(below->second, [&](auto const* child) {
        return child->is_rank || has_ranks_below(*child, children);
    });
}

}  // namespace

Receivers choose_receivers(std::span<ProcessView const> processes, pid_t root, NoticeOrder order) {
    auto const children = children_of(processes);
    auto const top =
        std::find_if(processes.begin(), processes.end(), [&](auto const& each) { return each.pid == root; });
    if (top == processes.end()) return {};
    bool const is_of_script = order == NoticeOrder::first_process_first;
    if (is_of_script && top->reaction == Reaction::caught && !is_srun(*top)) return {{root}, false};
    Receivers found;
    add_topmost(
        *top, children,
        [](auto const& each) { return each.is_rank && each.reaction != Reaction::none && !is_srun(each); },
        found.processes);
    found.are_ranks = !found.processes.empty();
    for (auto const wanted : {Reaction::caught, Reaction::blocked}) {
        if (!found.processes.empty()) break;
        add_topmost(
            *top, children,
            [&](auto const& each) {
                bool const is_launcher = is_of_script && has_ranks_below(each, children);
                return each.reaction == wanted && !is_srun(each) && !is_launcher;
            },
            found.processes);
    }
    return found;
}

std::vector<ProcessView> read_process_tree(pid_t root, int signal) {
    std::vector<ProcessView> all;
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        auto process = pid ? read_process(*pid, signal) : std::nullopt;
        if (process) all.push_back(*process);
    }
    auto const children = children_of(all);
    std::vector<ProcessView> tree;
    auto const add = [&](auto const& self, ProcessView const& process) -> void {
        tree.push_back(process);
        tree.back().is_rank = is_rank(process.pid);
        auto const below = children.find(process.pid);
        if (below == children.end()) return;
        for (auto const* child : below->second) self(self, *child);
    };
    for (auto const& process : all) {
        if (process.pid == root) add(add, process);
    }
    return tree;
}

std::vector<pid_t> find_tasks(OtherSteps const& steps) {
    std::vector<pid_t> tasks;
    if (steps.run_key.empty()) return tasks;
    auto const key = fmt::format("{}={}", variables::run_key, steps.run_key);
    auto const own_step = "SLURM_STEP_ID=" + steps.own_step;
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        auto const process = pid ? read_process(*pid, SIGTERM) : std::nullopt;
        auto const parent = process ? read_process(process->parent, SIGTERM) : std::nullopt;
        if (!parent || parent->name != "slurmstepd") continue;
        bool const is_own = any_variable(*pid, [&](auto variable) { return variable == own_step; });
        if (!is_own && any_variable(*pid, [&](auto variable) { return variable == key; }))
            tasks.push_back(*pid);
    }
    return tasks;
}

NoticeDelivery::NoticeDelivery(pid_t root, std::vector<int> const& signals, OtherSteps other_steps,
                               NoticeOrder order)
    : root_(root), other_steps_(std::move(other_steps)), order_(order) {
    for (int const signal : signals) deliveries_.push_back({signal});
}

void NoticeDelivery::deliver() {
    for (auto& delivery : deliveries_) {
        if (delivery.may_follow) deliver(delivery);
    }
}

void NoticeDelivery::deliver(Delivery& delivery) {
    auto roots = find_tasks(other_steps_);
    roots.push_back(root_);
    auto const blocked_before = std::exchange(delivery.blocked_before, {});
    for (auto const root : roots) {
        auto processes = read_process_tree(root, delivery.signal);
        for (auto& process : processes) {
            if (process.reaction != Reaction::blocked) continue;
            delivery.blocked_before.insert(process.pid);
            if (!blocked_before.contains(process.pid)) process.reaction = Reaction::none;
        }
        auto const receivers = choose_receivers(processes, root, order_);
        for (auto const process : receivers.processes) {
            if (delivery.reached.insert(process).second) ::kill(process, delivery.signal);
        }
        // Other ranks may still be about to install their handlers.
        if (!receivers.processes.empty() && !receivers.are_ranks) delivery.may_follow = false;
    }
}

bool NoticeDelivery::is_pending() const {
    return std::any_of(deliveries_.begin(), deliveries_.end(),
                       [](auto const& delivery) { return delivery.may_follow; });
}

}  // namespace det::launch::wrap_rank
