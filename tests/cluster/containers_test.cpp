// An experiment in a container, run by podman, where this machine lets a plain user run one.
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

namespace {

class PodmanCluster : public LoopbackCluster {
public:
    PodmanCluster() : LoopbackCluster(one_node()) {
        auto const image = home() / "tiny.tar";
        auto const made = must(SystemProcessRunner().run(
            {{det::test::source_path("tests/support/tiny-image"), image}, Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.err);
        std::filesystem::permissions(image, std::filesystem::perms(0644));
        // runc, because crun refuses machines that have both kinds of cgroups.
        shell(
            "mkdir -p .config/containers code && cat > .config/containers/containers.conf <<'EOF'\n"
            "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nEOF\n"
            "cat > site.yaml <<'EOF'\nversion: 1\nname: loopback\ncontainer_runtime: podman\n"
            // Its GPUs are none that a container could be given.
            "pools: [{name: compute, slot_type: cpu, slots_per_node: 4}]\nEOF\n"
            "cat > base.yaml <<'EOF'\nname: contained\nentrypoint: 'true'\nmax_restarts: 0\n"
            "searcher: {name: single, metric: loss}\nresources: {slots_per_trial: 2}\n"
            "environment: {image: 'localhost/tiny:1', environment_variables: [COLOUR=blue]}\n"
            "bind_mounts: [{host_path: /etc/hostname, container_path: /etc/of-the-host, read_only: "
            "true}]\nEOF\n"
            "echo code > code/file");
    }

    /// Empty where containers can be run.
    std::string why_not() const {
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

private:
    static LoopbackOptions one_node() {
        LoopbackOptions options;
        options.nodes = 1;
        return options;
    }
    int id_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(containers_on_a_cluster)

BOOST_AUTO_TEST_CASE(the_entrypoint_and_its_launcher_run_inside_and_its_end_is_known_outside) {
    PodmanCluster cluster;
    if (auto const reason = cluster.why_not(); !reason.empty()) {
        std::cout << "SKIPPED: podman runs no container here: " << reason << std::endl;
        return;
    }
    auto const well = cluster.run(
        "det-launch sh -c 'echo rank $RANK of $WORLD_SIZE in $(cat /etc/image), $COLOUR, $(cat file), "
        "$DET_RUN_DIR'");
    BOOST_TEST(well["exit_code"] == 0, cluster.logs());
    BOOST_TEST(cluster.logs() ==
               "[rank=0] rank 0 of 2 in tiny, blue, code, /run/determined\n"
               "[rank=1] rank 1 of 2 in tiny, blue, code, /run/determined");
    auto const badly = cluster.run("cat /etc/of-the-host; exit 7");
    BOOST_TEST(badly["exit_code"] == 7, cluster.logs());
}

BOOST_AUTO_TEST_SUITE_END()
