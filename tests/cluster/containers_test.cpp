// An experiment in a podman container. Skipped if a plain user can't run containers on this machine.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;

namespace containers_on_a_cluster {

class PodmanCluster : public LoopbackCluster {
public:
    PodmanCluster() : LoopbackCluster(one_node()) {
        auto const image = home() / "tiny.tar";
        auto const made = must(SystemProcessRunner().run(
            {{det::test::source_path("tests/support/tiny-image"), image}, Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
        std::filesystem::permissions(image, std::filesystem::perms(0644));
        // runc, because crun refuses machines with both cgroup v1 and v2.
        shell(
            "mkdir -p .config/containers code && cat > .config/containers/containers.conf <<'EOF'\n"
            "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nEOF\n"
            "cat > site.yaml <<'EOF'\nversion: 1\nname: loopback\ncontainer_runtime: podman\n"
            // slot_type cpu, because the fake GPUs can't be passed to a container.
            "pools: [{name: compute, slot_type: cpu, slots_per_node: 4}]\nEOF\n"
            "cat > base.yaml <<'EOF'\nname: contained\nentrypoint: 'true'\nmax_restarts: 0\n"
            "searcher: {name: single, metric: loss}\nresources: {slots_per_trial: 2}\n"
            "environment: {image: 'localhost/tiny:1', environment_variables: [COLOUR=blue]}\n"
            "bind_mounts: [{host_path: /etc/hostname, container_path: /etc/of-the-host, read_only: "
            "true}]\nEOF\n"
            "echo code > code/file && cat > code/train.py <<'EOF'\n"
            "import determined as det\n"
            "ranks = det.core.DistributedContext.from_torch_distributed()\n"
            "with det.core.init(distributed=ranks) as context:\n"
            "    total = sum(ranks.allgather(ranks.rank + 1))\n"
            "    if ranks.rank == 0:\n"
            "        context.train.report_validation_metrics(1, {'loss': total})\n"
            "        with context.checkpoint.store_path({'steps_completed': 1}) as (path, _):\n"
            "            (path / 'total').write_text(str(total))\n"
            "print(open('/etc/image').read().strip(), total)\n"
            "EOF");
    }

    /// Returns the error of a trial container, or "" if containers can be run.
    std::string check_podman() const {
        auto const tried =
            login("researcher",
                  {"sh", "-c",
                   "cd && podman import tiny.tar localhost/tiny:1 && podman run --rm --network=host "
                   "localhost/tiny:1 cat /etc/image"},
                  std::chrono::seconds(60));
        return tried.exit_code == 0 ? "" : tried.out + tried.err;
    }

    nlohmann::json run(std::string const& entrypoint) {
        auto const answer = nlohmann::json::parse(shell(fmt::format(
            "DET_SITE=$HOME/site.yaml det-submit experiment create base.yaml code --json --config {}",
            quote_for_shell("entrypoint=" + entrypoint))));
        id_ = answer["id"].get<int>();
        login("researcher", {"det-submit", "experiment", "wait", std::to_string(id_), "--timeout", "100"},
              std::chrono::seconds(110));
        return nlohmann::json::parse(
            shell(fmt::format("det-submit experiment describe {} --json", id_)))["trials"][0]["runs"][0];
    }
    std::string logs() const {
        return shell(fmt::format("det-submit trial logs {} | sed -n 's/^[^ ]* \\[rank/[rank/p' | sort", id_));
    }
    std::size_t checkpoints() const {
        return nlohmann::json::parse(shell(fmt::format("det-submit experiment list-checkpoints {} --json", id_)))
            .size();
    }

private:
    static LoopbackOptions one_node() {
        LoopbackOptions options;
        options.nodes = 1;
        return options;
    }
    int id_ = 0;
};

}  // namespace containers_on_a_cluster

BOOST_AUTO_TEST_SUITE(containers_on_a_cluster)

BOOST_AUTO_TEST_CASE(entrypoint_and_launcher_run_in_the_container_and_the_exit_code_is_recorded) {
    PodmanCluster cluster;
    if (auto const reason = cluster.check_podman(); !reason.empty()) {
        std::cout << "SKIPPED: podman runs no container here: " << reason << std::endl;
        return;
    }
    auto const succeeded = cluster.run(
        "det-launch sh -c 'echo rank $RANK of $WORLD_SIZE in $(cat /etc/image), $COLOUR, $(cat file), "
        "$DET_RUN_DIR'");
    BOOST_TEST(succeeded["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs() ==
               "[rank=0] rank 0 of 2 in tiny, blue, code, /run/determined\n"
               "[rank=1] rank 1 of 2 in tiny, blue, code, /run/determined");
    // The Python package is behind the image's PYTHONPATH, and libdet has its libraries beside it.
    auto const python = cluster.run("det-launch python3 train.py");
    BOOST_TEST(python["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs() == "[rank=0] tiny 3\n[rank=1] tiny 3");
    BOOST_TEST(cluster.checkpoints() == 1u);
    auto const failed = cluster.run("cat /etc/of-the-host; exit 7");
    BOOST_TEST(failed["exit_code"] == 7, cluster.logs());
}

BOOST_AUTO_TEST_SUITE_END()
