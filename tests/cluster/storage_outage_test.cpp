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

/// Reports a metric every 50 ms until the file ~/stop exists. Writes the number of steps to ~/steps, and
/// makes
/// ~/noticed after a notice, which it does not acknowledge: that would wait for the journal.
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
        if context.preempt.should_preempt(auto_ack=False):
            open(f"{home}/noticed", "w").close()
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
        write_configuration("train.yaml", "python3 train.py");
        write_configuration("save.yaml", DET_SAVING_IN_OUTAGE);
        fs::create_directory(small);
    }
    void write_configuration(std::string const& file, std::string const& entrypoint) const {
        must(write_file(
            home() / file,
            fmt::format("name: outage\nentrypoint: {}\nsearcher: {{name: single, metric: loss, max_length: "
                        "{{batches: 1000}}}}\nresources: {{slots_per_trial: 1}}\nmax_restarts: 0\n",
                        entrypoint),
            0644));
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
    /// Creates an experiment and waits until it trains.
    /// \param variables of its jobs. Nodes without a heartbeat for DET_SILENCE_S seconds count as silent
    int create(std::string const& configuration = "train.yaml",
               std::string const& variables = "DET_SILENCE_S=8") const {
        auto const answer = shell(fmt::format("{} DET_ROOT={} det experiment create {} code --json",
                                              variables, small.string(), configuration));
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
    void mount_small_tmpfs() const {
        run(fmt::format("mount -t tmpfs -o size=16m,mode=0755 small '{0}' && chown --reference='{1}' '{0}'",
                        small.string(), home().string()));
    }
    void fill() const {
        shell(fmt::format("head -c 32M /dev/zero >{0}/fill || true; sync {0}/fill; ! echo x >{0}/more",
                          small.string()));
    }
    void free_space() const { shell(fmt::format("rm -f {0}/fill {0}/more", small.string())); }
    void mount_small_ext4() const {
        auto const image = directory / "image";
        run(
            fmt::format("truncate -s 64M '{0}' && mkfs.ext4 -q '{0}' && mount -o loop '{0}' '{1}' && chown "
                        "--reference='{2}' '{1}'",
                        image.string(), small.string(), home().string()));
    }
    void begin_save() const {
        shell("touch save");
        wait_until([&] { return path_exists(home() / "saving"); }, 30s, "the save has begun");
    }
    void check_that_the_save_ends_well(int id) const {
        wait_until([&] { return path_exists(home() / "saved"); }, 60s, "the save has ended");
        auto const checkpoints =
            nlohmann::json::parse(det(fmt::format("experiment list-checkpoints {} --json", id)));
        BOOST_REQUIRE(checkpoints.size() == 1u);
        auto const uuid = checkpoints.at(0).at("uuid").get<std::string>();
        BOOST_TEST(must(read_file(home() / "saved")) == uuid);
        det("checkpoint verify " + uuid);
    }
    /// Freezes the file system: writes do not return. Nothing here may write to it meanwhile.
    void check_that_it_trains_through_a_stall(std::chrono::seconds length) const {
        run(fmt::format("fsfreeze --freeze '{}'", small.string()));
        auto const before = steps();
        auto const thaw_at = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < thaw_at) ::usleep(100'000);
        auto const more = steps() - before;
        run(fmt::format("fsfreeze --unfreeze '{}'", small.string()));
        BOOST_TEST(more > 8 * length.count(), "only " << more << " steps in " << length.count() << " s");
    }
    static bool appears_within(std::chrono::seconds limit, fs::path const& file) {
        auto const give_up_at = std::chrono::steady_clock::now() + limit;
        while (!path_exists(file) && std::chrono::steady_clock::now() < give_up_at) ::usleep(50'000);
        return path_exists(file);
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
    mount_small_tmpfs();
    auto const id = create();
    fill();
    wait_for_steps(500);  // 25 s, three times what counts as silence
    BOOST_TEST(trial(id).at("runs").size() == 1u);
    free_space();
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_CASE(a_save_that_meets_a_full_disk_ends_well_when_there_is_space) {
    mount_small_tmpfs();
    auto const id = create("save.yaml");
    fill();
    begin_save();
    wait_for_steps(200);  // 10 s
    BOOST_TEST(!path_exists(home() / "saved"));
    free_space();
    check_that_the_save_ends_well(id);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_CASE(a_training_and_its_save_go_on_while_writes_fail) {
    mount_small_tmpfs();
    auto const control = home() / "failure";
    auto const id = create("save.yaml", fmt::format("DET_SILENCE_S=8 LD_PRELOAD={} DET_FAILING_CONTROL={} "
                                                    "DET_FAILING_BELOW={}",
                                                    DET_FAILING_STORAGE, control.string(), small.string()));
    must(write_file(control, "EIO", 0644));
    begin_save();
    wait_for_steps(240);  // 12 s
    must(write_file(control, "EDQUOT", 0644));
    wait_for_steps(240);
    BOOST_TEST(!path_exists(home() / "saved"));
    fs::remove(control);
    check_that_the_save_ends_well(id);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_CASE(a_training_goes_on_while_writes_do_not_return) {
    mount_small_ext4();
    auto const id = create();
    check_that_it_trains_through_a_stall(12s);
    wait_for_steps(200);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_CASE(a_notice_reaches_the_ranks_while_writes_do_not_return) {
    mount_small_ext4();
    auto const id = create();
    auto const job = trial(id).at("runs").at(0).at("job").get<std::string>();
    run(fmt::format("fsfreeze --freeze '{}'", small.string()));
    wait_for_steps(100);  // 5 s, in which heartbeats do not return
    shell(fmt::format("scancel --signal=TERM {}", job));
    auto const has_come = appears_within(20s, home() / "noticed");
    run(fmt::format("fsfreeze --unfreeze '{}'", small.string()));
    BOOST_TEST(has_come);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_SUITE_END()

// The stall is longer than the usual time until a node counts as silent. The ctest storage_outage_long, which
// tests/run attacks --all includes, runs it; storage_outage does not, because it takes four minutes.
BOOST_FIXTURE_TEST_SUITE(long_storage_outage, storage_outage::Site, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(a_training_goes_on_while_writes_do_not_return_for_200_s) {
    mount_small_ext4();
    auto const id = create("train.yaml", "");
    check_that_it_trains_through_a_stall(200s);
    wait_for_steps(200);
    check_that_nothing_is_lost(id);
}

BOOST_AUTO_TEST_SUITE_END()
