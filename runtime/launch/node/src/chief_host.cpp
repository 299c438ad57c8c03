#include "chief_host.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace det::launch::node {
namespace {

using namespace std::chrono_literals;

constexpr auto interval_min = 5ms, interval_max = 500ms;

RunLayout run_of(Environment const& environment) {
    return RunLayout(environment.find(variables::run_path).value_or(""));
}

/// Lists the directory, because an NFS client may remember that a name is absent.
std::optional<std::string> read_chief(RunLayout const& run) {
    auto const names = list_directory(run.path());
    if (!names || std::ranges::find(*names, run.chief_host().filename().string()) == names->end())
        return std::nullopt;
    auto const text = read_file(run.chief_host());
    return text ? std::optional(std::string(trim(*text))) : std::nullopt;
}

Result<std::string> read_chief_when_announced(Environment const& environment) {
    auto const limit = silence_limit([&](std::string_view name) { return environment.find(name); });
    auto const deadline = std::chrono::steady_clock::now() + limit;
    for (std::chrono::milliseconds interval = interval_min; std::chrono::steady_clock::now() < deadline;
         interval = std::min<std::chrono::milliseconds>(2 * interval, interval_max)) {
        if (auto host = read_chief(run_of(environment))) return *std::move(host);
        std::this_thread::sleep_for(interval);
    }
    return Error{codes::timed_out, fmt::format("rank 0 has not started within {} s", limit.count()),
                 "look for srun's messages in the log of the job; DET_SILENCE_S sets the limit"};
}

}  // namespace

bool must_learn_chief(Environment const& environment) {
    if (!environment.find_non_empty(variables::run_path) || environment.find(variables::launch) != "rank")
        return false;
    auto const hosts = expand_host_list(environment.find(variables::run_hosts).value_or(""));
    return hosts && hosts->size() > 1;
}

Result<TaskIdentity> learn_chief(Environment& environment, TaskIdentity const& task,
                                 std::string const& host) {
    bool const is_nested = environment.find_non_empty(variables::placed).has_value();
    if (is_nested || !must_learn_chief(environment)) return task;
    if (task.rank == 0) DET_TRY(write_new_file(run_of(environment).chief_host(), host + "\n"));
    DET_TRY_ASSIGN(auto const chief, read_chief_when_announced(environment));
    environment.set(variables::chief_ip, chief);
    environment.set(variables::step_chief, render_step_chief(task.job_id, task.step_id, chief));
    return identify_task([&](std::string_view name) { return environment.find(name); });
}

}  // namespace det::launch::node
