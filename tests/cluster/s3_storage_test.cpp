// Checkpoints in an S3 bucket, on a real Slurm.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace s3_storage {

constexpr int skipped = 77;

LoopbackOptions two_small_nodes() {
    if (::system("command -v s3rver >/dev/null 2>&1") != 0) {
        std::cout << "SKIPPED: there is no s3rver (site-configs/loopback/install-packages --tests)"
                  << std::endl;
        std::quick_exit(skipped);
    }
    LoopbackOptions options;
    options.slots = 2;
    return options;
}

/// An S3 server on the login node. All nodes can reach it.
struct Site : DigitsCluster {
    Site() : DigitsCluster(two_small_nodes()) {
        shell(
            "mkdir bucket; setsid s3rver --directory bucket --address 0.0.0.0 --port 4568 "
            "--configure-bucket det >s3rver.log 2>&1 </dev/null &");
        wait_until([&] { return shell("cat s3rver.log").find("listening") != std::string::npos; }, 30s,
                   "the server listens");
    }
};

}  // namespace s3_storage

BOOST_FIXTURE_TEST_SUITE(s3_storage, Site)

BOOST_AUTO_TEST_CASE(a_preempted_training_resumes_from_its_bucket_and_no_output_shows_the_keys) {
    auto const id = create(
        "--template mpi --config resources.slots_per_trial=4 --config searcher.max_length.epochs=60 "
        "--config 'checkpoint_storage={type: s3, bucket: det, prefix: mine, access_key: S3RVER, "
        "secret_key: S3RVER, endpoint_url: \"http://login:4568\"}'");
    wait_until([&] { return ask(fmt::format("trial metrics {} --group validation", id)).size() >= 2; }, 60s,
               "epochs");
    shell("srun --partition urgent --nodes 2 true");
    finish(id);

    auto const runs = trial(id).at("runs");
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[1]["steps_completed"] > 0);
    BOOST_TEST(shell(fmt::format("det trial logs {} --rank 0 --run 1", id))
                   .find(fmt::format("resumed at step {}", runs[1]["steps_completed"].get<int>())) !=
               std::string::npos);
    auto const newest = ask(fmt::format("experiment list-checkpoints {}", id)).back()["uuid"];
    auto const uuid = newest.get<std::string>();
    BOOST_TEST(ask("checkpoint describe " + uuid)["path"] == "s3://det/mine/" + uuid);
    shell("det checkpoint verify " + uuid);
    BOOST_TEST(ask(fmt::format("trial download {}.0 --latest -o copy", id))["uuid"] == uuid);
    BOOST_TEST(path_exists(home() / "copy/weights"));
    // At the end checkpoints that the policy does not keep are deleted. The best and the newest of a trial
    // may be the same.
    auto const weights = [&] {
        return std::stoi(shell("find bucket/det/mine -name weights._S3rver_object | wc -l | tr -d ' '"));
    };
    wait_until([&] { return weights() >= 1 && weights() <= 2 && !path_exists(directory(id) / "gc.lock"); },
               60s, "what is not kept is removed");

    // The keys are in one file, which only the user can read, and in no output.
    auto const files = shell(fmt::format("grep -rl S3RVER {}", directory(id).string()));
    BOOST_TEST(files == (directory(id) / "secrets.json").string());
    BOOST_TEST(shell("stat -c %a " + files) == "600");
    BOOST_TEST(shell(fmt::format("det experiment describe {} --json", id)).find("S3RVER") ==
               std::string::npos);
    shell(fmt::format("det experiment delete {} --yes", id));
    BOOST_TEST(weights() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
