#pragma once
#include <chrono>
#include <filesystem>

namespace det::launch::wrap_rank {

/// runs/N/node-K.pulse: touched periodically while tasks of the run live on the node, absent when they have
/// ended. srun does not notice that the slurmstepd of a step is gone; the supervisor finds out by this file.
class Heartbeat {
public:
    Heartbeat(std::filesystem::path file, std::chrono::seconds interval)
        : file_(std::move(file)), interval_(interval) {}
    ~Heartbeat();
    Heartbeat(Heartbeat const&) = delete;
    Heartbeat& operator=(Heartbeat const&) = delete;

    /// Touches the file, unless another task of the node just has. Errors are ignored.
    void beat() const;

private:
    std::filesystem::path file_;
    std::chrono::seconds interval_;
};

}  // namespace det::launch::wrap_rank
