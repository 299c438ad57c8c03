// Trainings while the shared file system can't be written, on a real Slurm. The root of the experiments is a
// small file system of its own, which the test mounts on all nodes.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace storage_outage {

namespace fs = std::filesystem;

/// Reports a metric every 50 ms until the file ~/stop exists. Writes the number of steps to ~/steps.
constexpr char program[] = R"(import os, time
import determined as det
home = os.path.expanduser("~")
with det.core.init() as context:
    step = 0
    while not os.path.exists(f"{home}/stop"):
        step += 1
        context.train.report_training_metrics(step, {"loss": 1 / step})
        with open(f"{home}/steps.new", "w") as file:
            file.write(str(step))
        os.rename(f"{home}/steps.new", f"{home}/steps")
        time.sleep(0.05)
)";

/// Mounts that this process makes later appear in the cluster too, and on no other machine's process.
struct OwnMounts {
    OwnMounts() {
        BOOST_REQUIRE(::unshare(CLONE_NEWNS) == 0);
        BOOST_REQUIRE(::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0);
        BOOST_REQUIRE(::mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr) == 0);
    }
};

struct Site : OwnMounts, LoopbackCluster {
    TemporaryDirectory directory;
    fs::path small = shared() / "small";

    Site() {
        shell("mkdir code");
        must(write_file(home() / "code/train.py", program, 0644));
        must(write_file(home() / "train.yaml",
                        "name: outage\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, "
                        "max_length: {batches: 1000}}\nresources: {slots_per_trial: 1}\nmax_restarts: 0\n",
                        0644));
        fs::create_directory(small);
    }
    ~Site() { ::umount2(small.c_str(), MNT_DETACH); }
    Site(Site const&) = delete;
    Site& operator=(Site const&) = delete;

    void run(std::string const& script) const {
        auto const done = must(SystemProcessRunner().run(
            {{"bash", "-c", script}, Environment::of_this_process(), std::chrono::seconds(60)}));
        BOOST_REQUIRE_MESSAGE(done.exit_code == 0, script << ": " << done.err);
    }
    std::string det(std::string const& command) const {
        return shell(fmt::format("DET_ROOT={} det {}", small.string(), command));
    }
    nlohmann::json trial(int id) const {
        return nlohmann::json::parse(det(fmt::format("experiment describe {} --json", id)))
            .at("trials")
            .at(0);
    }
    /// Creates the experiment and waits until it trains. Nodes without a heartbeat for 8 s count as silent.
    int create() const {
        auto const answer = shell(fmt::format(
            "DET_SILENCE_S=8 DET_ROOT={} det experiment create train.yaml code --json", small.string()));
        auto const id = nlohmann::json::parse(answer).at("id").get<int>();
        wait_for_steps(20);
        return id;
    }
    int steps() const {
        auto const text = read_file(home() / "steps").value_or("0");
        return parse_integer<int>(trim(text)).value_or(0);
    }
    void wait_for_steps(int more) const {
        auto const wanted = steps() + more;
        wait_until([&] { return steps() >= wanted; }, 120s, fmt::format("step {} is trained", wanted));
    }
    /// Lets the program end, and checks that the run has gone on and that no report is lost.
    void check_that_nothing_is_lost(int id) const {
        BOOST_TEST(trial(id).at("state") == "RUNNING");
        shell("touch stop");
        wait_until([&] { return trial(id).at("state") == "COMPLETED"; }, 60s, "the trial completes");
        auto const runs = trial(id).at("runs");
        BOOST_TEST(runs.size() == 1u);
        BOOST_TEST(runs.at(0).at("cause") == "finished");
        auto const reported =
            det(fmt::format("trial metrics {} --metric loss --csv | tail -n +2 | wc -l", id));
        BOOST_TEST(reported == std::to_string(steps()));
    }
};

}  // namespace storage_outage

BOOST_FIXTURE_TEST_SUITE(storage_outage, Site)

BOOST_AUTO_TEST_CASE(a_training_goes_on_while_the_disk_is_full_and_no_report_is_lost) {
    run(fmt::format("mount -t tmpfs -o size=16m,mode=0755 small '{0}' && chown --reference='{1}' '{0}'",
                    small.string(), home().string()));
    auto const id = create();
    shell(fmt::format("head -c 32M /dev/zero >{0}/fill || true; sync {0}/fill; ! echo x >{0}/more",
                      small.string()));
    wait_for_steps(500);  // 25 s, three times what counts as silence
    BOOST_TEST(trial(id).at("runs").size() == 1u);
    shell(fmt::format("rm -f {0}/fill {0}/more", small.string()));
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_CASE(a_training_goes_on_while_writes_do_not_return) {
    auto const image = directory / "image";
    run(
        fmt::format("truncate -s 64M '{0}' && mkfs.ext4 -q '{0}' && mount -o loop '{0}' '{1}' && chown "
                    "--reference='{2}' '{1}'",
                    image.string(), small.string(), home().string()));
    auto const id = create();
    run(fmt::format("fsfreeze --freeze '{}'", small.string()));
    auto const before = steps();
    auto const thaw_at = std::chrono::steady_clock::now() + 12s;
    // Nothing here may write to the file system before it is thawed.
    while (std::chrono::steady_clock::now() < thaw_at) ::usleep(100'000);
    auto const after = steps();
    run(fmt::format("fsfreeze --unfreeze '{}'", small.string()));
    BOOST_TEST(after - before > 100, "only " << after - before << " steps in 12 s");
    wait_for_steps(200);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_SUITE_END()
