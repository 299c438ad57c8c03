#pragma once
#include <chrono>
#include <filesystem>

namespace det::launch::wrap_rank {

/// runs/N/node-K.pulse: touched again and again while tasks of the run live on the node, absent when they
/// have ended. srun does not notice that the slurmstepd of a step is gone; whoever looks at this does.
class Pulse {
public:
    Pulse(std::filesystem::path file, std::chrono::seconds interval)
        : file_(std::move(file)), interval_(interval) {}
    ~Pulse();
    Pulse(Pulse const&) = delete;
    Pulse& operator=(Pulse const&) = delete;

    /// Touches it, unless another task of the node just has. A file system that refuses is no trouble of the
    /// command's.
    void beat() const;

private:
    std::filesystem::path file_;
    std::chrono::seconds interval_;
};

}  // namespace det::launch::wrap_rank
