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

std::vector<std::string> NodeSampler::sample_node(std::string const& helper, std::string const& journal) {
    return {helper,          "sample-node", "--journal", journal,
            "--interval-ms", interval_ms,   "--samples", samples_per_report};
}

std::vector<std::string> NodeSampler::measure_usage(std::string const& helper, std::string const& file,
                                                    std::string const& window_ms, std::string const& run_key,
                                                    bool has_gpus) {
    return {helper,    "measure-usage", "--file", file,     "--window-ms",
            window_ms, "--run-key",     run_key,  "--gpus", has_gpus ? "yes" : "no"};
}

NodeSampler::NodeSampler(std::vector<std::string> const& command, Environment const& environment) {
    auto pipe = make_pipe();
    if (!pipe) return;
    SpawnSettings settings;
    settings.in_own_group();  // Ctrl-C in a terminal is for the command
    settings.connect(pipe->read_end, STDIN_FILENO);
    auto const pid = spawn(command, environment, settings);
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
