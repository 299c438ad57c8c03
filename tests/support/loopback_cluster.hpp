#pragma once
#include <det/foundation/process.hpp>

#include <boost/test/tree/observer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace det {

struct LoopbackOptions {
    int nodes = 2;
    int slots = 4;
    std::optional<int> cpus = {};  // per node; nullopt: the default of 'up'
    int grace_s = 30;
    std::string proctrack = "auto";  // cgroup, linuxproc
    enum class Plugin { off, when_built } plugin = Plugin::off;
    std::vector<std::string> slurm_options = {};  // "KEY=VALUE" for slurm.conf
    // Values of --slurm and --profile. Empty: DET_TEST_SLURM and DET_TEST_PROFILE, else the defaults of 'up'.
    std::string slurm = {};
    std::string profile = {};
};

/// The name of a cluster that another program has started.
struct RunningCluster {
    std::string name;
};

/// Runs a det-loopback command. If it exceeds the timeout, the test fails.
ProcessOutput run_cluster_command(std::vector<std::string> arguments,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(120));

/// A private real Slurm. The constructor starts it, the destructor removes it. A program that links this file
/// prints a reason and ends with exit code 77 (skipped) without root or without Slurm, or if the root file
/// system of a Slurm release can't be made. When a test fails, the ends of the daemons' logs are printed.
class LoopbackCluster : boost::unit_test::test_observer {
public:
    explicit LoopbackCluster(LoopbackOptions const& options = {});
    /// A cluster that is up already, and stays.
    explicit LoopbackCluster(RunningCluster running);
    ~LoopbackCluster() override;
    LoopbackCluster(LoopbackCluster const&) = delete;
    LoopbackCluster& operator=(LoopbackCluster const&) = delete;

    std::string const& name() const { return name_; }
    std::filesystem::path state() const;
    std::filesystem::path shared() const { return state() / "shared"; }
    std::filesystem::path home() const { return shared() / "home" / "researcher"; }

    /// Runs a command as `user` on the login node.
    ProcessOutput login(std::string const& user, std::vector<std::string> const& argv,
                        std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// The command that login() runs.
    Command login_command(std::string const& user, std::vector<std::string> const& argv,
                          std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// Runs a script as researcher in the home directory. It must succeed. Returns its trimmed stdout.
    std::string shell(std::string const& script,
                      std::chrono::milliseconds timeout = std::chrono::seconds(60)) const;
    /// Runs any other det-loopback command, which must succeed. Returns its trimmed stdout.
    std::string command(std::vector<std::string> arguments) const;

    /// Polls `condition` until it is true. After the timeout the test fails with `what`.
    void wait_until(std::function<bool()> const& condition, std::chrono::milliseconds timeout,
                    std::string const& what) const;

private:
    void assertion_result(boost::unit_test::assertion_result result) override;
    void exception_caught(boost::execution_exception const&) override { failed_ = true; }
    void print_logs() const;

    std::string name_;
    bool stays_ = false;
    bool failed_ = false;
};

}  // namespace det
