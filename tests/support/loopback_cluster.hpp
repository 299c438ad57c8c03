#pragma once
#include <det/foundation/process.hpp>

#include <boost/test/tree/observer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace det {

struct LoopbackOptions {
    int nodes = 2;
    int slots = 4;
    int grace_s = 30;
    std::string proctrack = "auto";  // cgroup, linuxproc
    enum class Plugin { off, when_built } plugin = Plugin::off;
    std::vector<std::string> slurm_options = {};  // "KEY=VALUE" for slurm.conf
};

/// What site-configs/loopback/cluster answers; on a hang the test fails.
ProcessOutput run_cluster_command(std::vector<std::string> arguments,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(120));

/// A real Slurm of the test's own, up while this lives. A program that links this file ends with exit code
/// 77, and says why, where there can be none: not root, or no Slurm. When a test fails its daemons' last
/// words are printed.
class LoopbackCluster : boost::unit_test::test_observer {
public:
    explicit LoopbackCluster(LoopbackOptions const& options = {});
    ~LoopbackCluster() override;
    LoopbackCluster(LoopbackCluster const&) = delete;
    LoopbackCluster& operator=(LoopbackCluster const&) = delete;

    std::string const& name() const { return name_; }
    std::filesystem::path state() const;
    std::filesystem::path shared() const { return state() / "shared"; }
    std::filesystem::path home() const { return shared() / "home" / "researcher"; }

    /// As on a login node.
    ProcessOutput login(std::string const& user, std::vector<std::string> const& argv,
                        std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// A script of researcher's, begun at home, that must succeed. Returns what it wrote, trimmed.
    std::string shell(std::string const& script,
                      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// Any other command of 'cluster'; it must succeed.
    std::string command(std::vector<std::string> arguments) const;

    /// Looks again and again; the test ends where `what` does not come about.
    void wait_until(std::function<bool()> const& condition, std::chrono::milliseconds timeout,
                    std::string const& what) const;

private:
    void assertion_result(boost::unit_test::assertion_result result) override;
    void exception_caught(boost::execution_exception const&) override { failed_ = true; }
    void print_logs() const;

    std::string name_;
    bool failed_ = false;
};

}  // namespace det
