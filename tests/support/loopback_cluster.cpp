#include "loopback_cluster.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/framework.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <optional>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "test_paths.hpp"

namespace det {
namespace {

constexpr int skipped = 77;  // SKIP_RETURN_CODE in tests/cmake/DetTest.cmake
constexpr std::size_t log_lines_shown = 8;

/// DET_TEST_SOFTWARE names another installation whose programs jobs use.
std::string program() {
    auto const* const software = std::getenv("DET_TEST_SOFTWARE");
    return software != nullptr ? fmt::format("{}/bin/det-loopback", software)
                               : det::test::built_path("bin/det-loopback");
}

std::optional<std::string> find_obstacle() {
    if (::geteuid() != 0) return "a cluster needs root";
    for (auto const* daemon : {"/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"}) {
        if (!path_exists(daemon)) return fmt::format("{} is not installed", daemon);
    }
    return std::nullopt;
}

[[noreturn]] void skip(std::string_view reason) {
    std::cout << "SKIPPED: " << reason << std::endl;
    std::exit(skipped);
}

struct ClusterPrecondition {
    ClusterPrecondition() {
        if (auto const reason = find_obstacle()) skip(*reason);
    }
};
BOOST_TEST_GLOBAL_FIXTURE(ClusterPrecondition);

std::string unique_name() {
    static int count = 0;
    return fmt::format("test-{}-{}", ::getpid(), count++);
}

void add_choice(std::vector<std::string>& arguments, std::string_view option, std::string const& value,
                char const* variable) {
    auto const* inherited = std::getenv(variable);
    auto const& chosen = value.empty() && inherited != nullptr ? std::string(inherited) : value;
    if (!chosen.empty()) arguments.push_back(fmt::format("{}={}", option, chosen));
}

/// Ends the program if 'cluster up' has reported that the Slurm release can't be prepared on this machine.
/// All tests of a program use the same release, so this happens in the first test or never and hides no
/// failure.
void skip_without_release(ProcessOutput const& output) {
    if (output.err.find("[no-slurm-release]") == std::string::npos) return;
    skip(split_lines(output.err).front());
}

std::vector<std::string> up_arguments(LoopbackOptions const& options, std::string const& name) {
    std::vector<std::string> arguments{"up",
                                       "--name=" + name,
                                       fmt::format("--nodes={}", options.nodes),
                                       fmt::format("--slots={}", options.slots),
                                       fmt::format("--grace={}", options.grace_s),
                                       "--proctrack=" + options.proctrack};
    if (options.cpus) arguments.push_back(fmt::format("--cpus={}", *options.cpus));
    if (options.plugin == LoopbackOptions::Plugin::off) arguments.emplace_back("--no-plugin");
    add_choice(arguments, "--slurm", options.slurm, "DET_TEST_SLURM");
    add_choice(arguments, "--profile", options.profile, "DET_TEST_PROFILE");
    for (auto const& line : options.slurm_options) arguments.push_back("--slurm-option=" + line);
    return arguments;
}

}  // namespace

ProcessOutput run_cluster_command(std::vector<std::string> arguments, std::chrono::milliseconds timeout) {
    arguments.insert(arguments.begin(), program());
    return must(SystemProcessRunner().run({arguments, Environment::of_this_process(), timeout}));
}

LoopbackCluster::LoopbackCluster(LoopbackOptions const& options) : name_(unique_name()) {
    // Making the root file system of a release takes a minute or more.
    auto const output = run_cluster_command(up_arguments(options, name_), std::chrono::minutes(15));
    skip_without_release(output);
    BOOST_REQUIRE_MESSAGE(output.exit_code == 0, "'cluster up' failed:\n" << output.err);
    boost::unit_test::framework::register_observer(*this);
}

LoopbackCluster::LoopbackCluster(RunningCluster running) : name_(std::move(running.name)), stays_(true) {
    BOOST_REQUIRE_MESSAGE(path_exists(home()), "no cluster '" << name_ << "' is up");
    boost::unit_test::framework::register_observer(*this);
}

LoopbackCluster::~LoopbackCluster() {
    boost::unit_test::framework::deregister_observer(*this);
    if (failed_) print_logs();
    if (stays_) return;
    auto const output = SystemProcessRunner().run(
        {{program(), "down", "--name=" + name_}, Environment::of_this_process(), std::chrono::seconds(60)});
    if (!output || output->exit_code != 0) std::cout << "'cluster down' failed for " << name_ << '\n';
}

std::filesystem::path LoopbackCluster::state() const {
    return std::filesystem::path("/var/lib/det-loopback") / name_;
}

ProcessOutput LoopbackCluster::login(std::string const& user, std::vector<std::string> const& argv,
                                     std::chrono::milliseconds timeout) const {
    return must(SystemProcessRunner().run(login_command(user, argv, timeout)));
}

Command LoopbackCluster::login_command(std::string const& user, std::vector<std::string> const& argv,
                                       std::chrono::milliseconds timeout) const {
    std::vector<std::string> arguments{program(), "login", "--name=" + name_, "--user=" + user, "--"};
    arguments.insert(arguments.end(), argv.begin(), argv.end());
    return {std::move(arguments), Environment::of_this_process(), timeout};
}

std::string LoopbackCluster::shell(std::string const& script, std::chrono::milliseconds timeout) const {
    auto const output = login("researcher", {"bash", "-c", "cd && " + script}, timeout);
    BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script << "\nended with " << output.exit_code << ":\n"
                                                        << output.out << output.err);
    return std::string(trim(output.out));
}

std::string LoopbackCluster::command(std::vector<std::string> arguments) const {
    arguments.push_back("--name=" + name_);
    auto const output = run_cluster_command(arguments);
    BOOST_REQUIRE_MESSAGE(output.exit_code == 0, join(arguments, " ") << " failed:\n" << output.err);
    return std::string(trim(output.out));
}

void LoopbackCluster::wait_until(std::function<bool()> const& condition, std::chrono::milliseconds timeout,
                                 std::string const& what) const {
    auto const deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) BOOST_FAIL("timed out waiting for: " << what);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

void LoopbackCluster::assertion_result(boost::unit_test::assertion_result result) {
    if (result == boost::unit_test::AR_FAILED) failed_ = true;
}

void LoopbackCluster::print_logs() const {
    for (auto const& name : list_directory(state() / "log").value_or(std::vector<std::string>())) {
        if (!name.ends_with(".log")) continue;
        auto const text = read_file(state() / "log" / name).value_or("");
        auto const lines = split_lines(text);
        std::cout << "--- " << name << '\n';
        for (auto i = lines.size() - std::min(lines.size(), log_lines_shown); i < lines.size(); ++i) {
            std::cout << lines[i] << '\n';
        }
    }
}

}  // namespace det
