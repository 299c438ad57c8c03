#include "digits_cluster.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "test_paths.hpp"

namespace det {
namespace {

namespace fs = std::filesystem;

constexpr auto training_limit = std::chrono::seconds(180);

fs::path data_file() { return det::test::built_path("data/digits.csv.gz"); }

}  // namespace

DigitsCluster::DigitsCluster(LoopbackOptions const& options) : LoopbackCluster(options) {
    BOOST_REQUIRE_MESSAGE(path_exists(data_file()),
                          "no " << data_file() << ": run the ctest test digits_data, which fetches it");
    fs::create_directories(home() / "code");
    fs::copy_file(data_file(), home() / "code" / "digits.csv.gz");
    fs::copy_file(det::test::source_path("templates/examples/digits/digits.yaml"), home() / "digits.yaml");
    auto const owned = SystemProcessRunner().run(
        {{"chown", "-R", "--reference=" + home().string(), home() / "code", home() / "digits.yaml"},
         Environment::of_this_process(),
         std::chrono::seconds(10)});
    BOOST_REQUIRE(must(owned).exit_code == 0);
    has_pmix_ = shell("srun --mpi=list 2>&1").find("pmix") != std::string::npos;
}

LoopbackOptions DigitsCluster::with_plugin() {
    LoopbackOptions options;
    options.plugin = LoopbackOptions::Plugin::when_built;
    return options;
}

std::string DigitsCluster::state(int experiment) const {
    return ask(fmt::format("experiment describe {}", experiment)).at("state");
}

void DigitsCluster::wait_for_state(int experiment, std::string const& wanted) const {
    wait_until([&] { return state(experiment) == wanted; }, std::chrono::seconds(60),
               fmt::format("experiment {} is {}", experiment, wanted));
}

nlohmann::json DigitsCluster::trial(int experiment, std::size_t index) const {
    return ask(fmt::format("experiment describe {}", experiment)).at("trials").at(index);
}

void DigitsCluster::wait_for_run(int experiment, std::size_t run) const {
    auto const logs = fmt::format("det trial logs {} --run {} 2>/dev/null || true", experiment, run);
    wait_until([&] { return shell(logs).find("epoch") != std::string::npos; }, std::chrono::seconds(90),
               fmt::format("run {} of experiment {} trains", run, experiment));
}

int DigitsCluster::create(std::string const& arguments, std::string const& assignments) const {
    auto const without_pmix = has_pmix_ ? "" : " --config slurm.mpi=none";
    return ask("experiment create digits.yaml code " + arguments + without_pmix, assignments)["id"]
        .get<int>();
}

nlohmann::json DigitsCluster::ask(std::string const& command, std::string const& assignments) const {
    return nlohmann::json::parse(shell(assignments + "det-submit " + command + " --json"));
}

void DigitsCluster::finish(int experiment) const {
    shell(fmt::format("det-submit experiment wait {} --timeout {}", experiment, training_limit.count()),
          training_limit + std::chrono::seconds(10));
}

fs::path DigitsCluster::newest_checkpoint(int experiment) const {
    auto const checkpoints = ask(fmt::format("experiment list-checkpoints {}", experiment));
    BOOST_REQUIRE(!checkpoints.empty());
    return root() / "checkpoints" / checkpoints.back()["uuid"].get<std::string>();
}

double DigitsCluster::accuracy(int experiment) const {
    auto const reports = ask(fmt::format("trial metrics {} --group validation", experiment));
    BOOST_REQUIRE(!reports.empty());
    return reports.back()["metrics"]["correct"].get<double>();
}

std::string difference(fs::path const& a, fs::path const& b) {
    auto const output =
        must(SystemProcessRunner().run({{det::test::built_path("bin/digits"), "compare", a, b},
                                        Environment::of_this_process(),
                                        std::chrono::seconds(10)}));
    return output.exit_code == 0 ? "" : output.out + output.err;
}

}  // namespace det
