#pragma once
#include <chrono>
#include <filesystem>

namespace det::launch::wrap_rank {

/// The file runs/N/node-K.pulse. Wrappers touch it periodically while tasks of the run live on the node. Each
/// wrapper removes it at its end; a wrapper that still runs creates it again. srun does not notice that the
/// slurmstepd of a step is gone; the supervisor detects that from this file.
class Heartbeat {
public:
    Heartbeat(std::filesystem::path file, std::chrono::seconds interval)
        : file_(std::move(file)), interval_(interval) {}
    ~Heartbeat();
    Heartbeat(Heartbeat const&) = delete;
    Heartbeat& operator=(Heartbeat const&) = delete;

    /// Touches the file, unless another task of the node has just done so. Errors are ignored.
    void beat() const;

private:
    std::filesystem::path file_;
    std::chrono::seconds interval_;
};

}  // namespace det::launch::wrap_rank
