#include "failure_record.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/protocol/setup_lines.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <thread>
#include <unistd.h>

#include "memory_kills.hpp"

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t text_size_max = 1024;
// Longer than output_grace, for which the wrapper of the other rank may wait before it records its failure.
constexpr auto wait_limit = 2s;
constexpr auto longest_interval = 160ms;

std::string read_short_text(fs::path const& file) {
    auto const text = read_file(file);
    return text ? std::string(trim(*text)).substr(0, text_size_max) : "";
}

/// The line of slurm.setup that failed on this node; empty if none did.
std::string find_setup_failure(Environment const& environment) {
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    if (!run_dir || !environment.find_non_empty(variables::setup)) return "";
    return read_short_text(fs::path(*run_dir) / setup_files::directory / setup_files::failed);
}

/// Whether the end can be the run's first failure. Launchers and Slurm end the other ranks by TERM.
bool is_first_cause(RankFailure const& end) {
    return end.lost_peer.empty() && end.setup_failure.empty() && end.exit_code != 128 + SIGTERM;
}

void append_end(fs::path const& log, RankFailure const& end) {
    UniqueFd const file(
        ::open(RunLayout::failures_beside(log).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) share_new_file(file.get(), log);
    if (file) (void)write_all(file.get(), render_rank_failure(end), "how the rank failed");
}

/// Waits until the exit code of the first failure is recorded, or will not be, at most until the limit. Lists
/// the directory, because an NFS client may remember that a name is absent.
void wait_for_first_failure(fs::path const& run) {
    auto const recorded = RunLayout(run).first_failure().filename().string();
    auto const killed = RunLayout(run).killed_node().filename().string();
    auto const deadline = std::chrono::steady_clock::now() + wait_limit;
    for (auto interval = 20ms; std::chrono::steady_clock::now() < deadline;
         interval = std::min(interval * 2, longest_interval)) {
        auto const names = list_directory(run);
        if (!names) return;
        if (std::ranges::find_first_of(*names, std::array{recorded, killed}) != names->end()) return;
        auto const left = deadline - std::chrono::steady_clock::now();
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(interval, left));
    }
}

}  // namespace

FailureRecord::FailureRecord(std::string rank, StartedBy started_by, Environment& environment)
    : rank_(std::move(rank)),
      is_started_by_slurmstepd_(started_by == StartedBy::slurm),
      earlier_memory_kills_(count_memory_kills()) {
    auto const name = fmt::format("lost-peer-{}-{}", rank_.empty() ? "node" : rank_, ::getpid());
    lost_peer_file_ = fs::path(environment.find(variables::run_dir).value_or("")) / name;
    environment.set(variables::lost_peer_file, name);
}

void FailureRecord::write(CommandEnd const& end, RelayedCommand const& command) const {
    auto const& log = command.labels.log;
    if (end.exit_code == 0 || !log) return;
    RankFailure const report{end.time,
                             parse_integer<std::uint32_t>(rank_),
                             node::node_name(command.environment),
                             end.exit_code,
                             end.signal,
                             end.last_output,
                             find_setup_failure(command.environment),
                             read_short_text(lost_peer_file_),
                             count_memory_kills() > earlier_memory_kills_,
                             is_started_by_slurmstepd_ && ::getppid() != command.parent};
    append_end(*log, report);
    fs::path const run = command.environment.find(variables::run_path).value_or("");
    if (is_first_cause(report))
        (void)write_new_file(RunLayout(run).first_failure(), fmt::format("{}\n", end.exit_code));
    if (!report.lost_peer.empty()) wait_for_first_failure(run);
}

}  // namespace det::launch::wrap_rank
