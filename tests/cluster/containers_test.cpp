// Experiments in containers of podman and of apptainer. Skipped if a plain user can't run containers on this
// machine.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;

namespace containers_on_a_cluster {

/// A cluster whose jobs run in containers of the image that tiny-image makes.
class ContainerCluster : public LoopbackCluster {
public:
    ContainerCluster(LoopbackOptions const& options, std::string const& runtime, std::string const& image)
        : LoopbackCluster(options) {
        // The image is made on the login node, from the programs of its Debian release: the libraries of that
        // release, which jobs mount into the container, need its glibc or a newer one.
        shell("set -- tiny.tar\n" + must(read_file(det::test::source_path("tests/support/tiny-image"))));
        shell(
            fmt::format("cat > site.yaml <<'EOF'\nversion: 1\nname: loopback\ncontainer_runtime: {}\n"
                        // slot_type cpu, because the fake GPUs can't be passed to a container.
                        "pools: [{{name: compute, slot_type: cpu, slots_per_node: 4}}]\nEOF\n"
                        "cat > base.yaml <<'EOF'\nname: contained\nentrypoint: 'true'\nmax_restarts: 0\n"
                        "searcher: {{name: single, metric: loss}}\nresources: {{slots_per_trial: 2}}\n"
                        "environment: {{image: '{}', environment_variables: [COLOUR=blue]}}\n"
                        "bind_mounts: [{{host_path: /etc/hosts, container_path: /etc/of-the-host, "
                        "read_only: true}}]\nEOF",
                        runtime, image));
        shell(
            "mkdir -p code && echo code > code/file && cat > code/train.py <<'EOF'\n"
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

    /// Runs commands that show whether a plain user can run containers here. Returns their output if they
    /// fail, else "".
    std::string find_obstacle(std::string const& commands) const {
        auto const tried = login("researcher", {"sh", "-c", "cd && " + commands}, std::chrono::seconds(60));
        return tried.exit_code == 0 ? "" : tried.out + tried.err;
    }

    /// \param variables of the submission: "A=1 B=2 "
    nlohmann::json run(std::string const& entrypoint, std::string const& variables = "") {
        auto const answer = nlohmann::json::parse(shell(fmt::format(
            "{}DET_SITE=$HOME/site.yaml det-submit experiment create base.yaml code --json --config {}",
            variables, quote_for_shell("entrypoint=" + entrypoint))));
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
        return nlohmann::json::parse(
                   shell(fmt::format("det-submit experiment list-checkpoints {} --json", id_)))
            .size();
    }

private:
    int id_ = 0;
};

LoopbackOptions one_node() {
    LoopbackOptions options;
    options.nodes = 1;
    return options;
}

/// DET_TEST_PROFILE=apptainer chooses a site whose nodes have apptainer; podman is on this machine.
struct OnSiteWith {
    std::string runtime;
    boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const {
        auto const* profile = std::getenv("DET_TEST_PROFILE");
        bool const has_apptainer = profile != nullptr && std::string_view(profile) == "apptainer";
        return has_apptainer == (runtime == "apptainer");
    }
};

void check_shell(ContainerCluster& cluster) {
    auto const succeeded = cluster.run(
        "det-launch sh -c 'echo rank $RANK of $WORLD_SIZE in $(cat /etc/image), $COLOUR, $(cat file), "
        "$DET_RUN_DIR'");
    BOOST_TEST(succeeded["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs() ==
               "[rank=0] rank 0 of 2 in tiny, blue, code, /run/determined\n"
               "[rank=1] rank 1 of 2 in tiny, blue, code, /run/determined");
    auto const failed = cluster.run("cat /etc/of-the-host; exit 7");
    BOOST_TEST(failed["exit_code"] == 7, cluster.logs());
}

/// The Python package is behind the image's PYTHONPATH, and libdet has its libraries beside it.
void check_python(ContainerCluster& cluster) {
    auto const python = cluster.run("det-launch python3 train.py");
    BOOST_TEST(python["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs() == "[rank=0] tiny 3\n[rank=1] tiny 3");
    BOOST_TEST(cluster.checkpoints() == 1u);
}

}  // namespace containers_on_a_cluster

BOOST_AUTO_TEST_SUITE(containers_on_a_cluster)

BOOST_AUTO_TEST_CASE(podman_runs_the_entrypoint_and_the_launcher_and_the_exit_code_is_recorded,
                     *boost::unit_test::precondition(OnSiteWith{"podman"})) {
    ContainerCluster cluster(one_node(), "podman", "localhost/tiny:1");
    // runc, because crun refuses machines with both cgroup v1 and v2.
    cluster.shell(
        "mkdir -p .config/containers && cat > .config/containers/containers.conf <<'EOF'\n"
        "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nEOF");
    auto const reason = cluster.find_obstacle(
        "podman import tiny.tar localhost/tiny:1 && podman run --rm --network=host localhost/tiny:1 cat "
        "/etc/image");
    if (!reason.empty()) {
        std::cout << "SKIPPED: podman runs no container here: " << reason << std::endl;
        return;
    }
    check_shell(cluster);
    check_python(cluster);
    // The same program as a runtime that det-submit does not know. Variables are inherited by name.
    cluster.shell(
        "cat > site.yaml <<'EOF'\nversion: 1\n"
        "pools: [{name: compute, slot_type: cpu, slots_per_node: 4}]\n"
        "container_template:\n  name: hpc-podman\n  command:\n"
        "    - podman run --rm --network=host --security-opt=label=disable --volume=/dev/shm:/dev/shm\n"
        "    - '--volume={source}:{target}:{mode}'\n    - '--env={variable}'\n    - '{image}'\nEOF\n"
        "sed -i 's/COLOUR=blue/COLOUR=blue, INHERITED=/' base.yaml");
    check_shell(cluster);
    auto const inherited =
        cluster.run("det-launch sh -c 'echo $INHERITED $HF_HOME'", "INHERITED=kept HF_HOME=/models ");
    BOOST_TEST(inherited["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs().find("kept /models") != std::string::npos, cluster.logs());
    // The first run makes a file of the image, and the second one uses it.
    cluster.shell(
        "sed -i \"s|{image}'|docker-archive:{image}'|; s|^container_t|image_directory: "
        "$HOME/images/%u\\n&|\" "
        "site.yaml && echo \"  import: [podman save --output, '{file}', '{image}']\" >>site.yaml");
    for (int run = 0; run < 2; ++run) {
        auto const imported = cluster.run("det-launch sh -c 'cat /etc/image'");
        BOOST_TEST(imported["exit_code"] == 0, cluster.logs());
        BOOST_TEST(cluster.shell("ls images/researcher | sed 's/^[0-9a-f]\\{64\\}[.]/SHA256./'") ==
                   "SHA256.image");
    }
    BOOST_TEST(cluster.shell("cat $DET_ROOT/experiments/*/trials/*/runs/*/node-0.log | grep --count "
                             "'importing the image: podman save'") == "1");
}

BOOST_AUTO_TEST_CASE(apptainer_runs_the_entrypoint_and_the_launcher_and_the_exit_code_is_recorded,
                     *boost::unit_test::precondition(OnSiteWith{"apptainer"})) {
    // The path of the image in the home directory, as the jobs see it.
    ContainerCluster cluster(one_node(), "apptainer", "$IMAGE");
    cluster.shell("mkdir tiny && tar -C tiny -xf tiny.tar && sed -i \"s|[$]IMAGE|$HOME/tiny|\" base.yaml");
    auto const reason = cluster.find_obstacle("apptainer exec --writable-tmpfs $HOME/tiny cat /etc/image");
    if (!reason.empty()) {
        std::cout << "SKIPPED: apptainer runs no container here: " << reason << std::endl;
        return;
    }
    check_shell(cluster);
    check_python(cluster);
}

BOOST_AUTO_TEST_SUITE_END()
