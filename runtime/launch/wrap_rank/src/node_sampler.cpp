#include "node_sampler.hpp"

#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>

#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det::launch::wrap_rank {
namespace {

constexpr char interval_ms[] = "1000";
constexpr char samples_per_report[] = "10";
constexpr std::chrono::milliseconds last_write_max = std::chrono::seconds(2);

}  // namespace

NodeSampler::NodeSampler(std::filesystem::path const& helper, std::filesystem::path const& journal,
                         Environment const& environment) {
    auto pipe = make_pipe();
    if (!pipe) return;
    SpawnSettings settings;
    settings.in_own_group();  // Ctrl-C in a terminal is for the command
    settings.connect(pipe->read_end, STDIN_FILENO);
    auto const pid = spawn({helper, "sample-node", "--journal", journal, "--interval-ms", interval_ms,
                            "--samples", samples_per_report},
                           environment, settings);
    if (!pid) return;
    pid_ = *pid;
    input_ = std::move(pipe->write_end);
}

NodeSampler::~NodeSampler() {
    if (pid_ < 0) return;
    input_.reset();
    auto const ended = open_pidfd(pid_);
    pollfd polled{ended.get(), POLLIN, 0};
    bool const has_ended = ended && ::poll(&polled, 1, static_cast<int>(last_write_max.count())) > 0;
    if (!has_ended) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

}  // namespace det::launch::wrap_rank
