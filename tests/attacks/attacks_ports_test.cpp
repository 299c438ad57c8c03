// A colleague who is logged in to the nodes of a researcher's job floods its ports with connections that say
// nothing or garbage, takes the names of its directories, and writes into the log of slurmd.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <thread>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace attacks_ports {

namespace fs = std::filesystem;

bool contains(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// tests/attacks/programs/flood on all nodes, from its construction to its destruction.
class Flood {
public:
    explicit Flood(LoopbackCluster const& cluster) : stop_(cluster.shared() / "home/colleague/stop") {
        fs::remove(stop_);
        auto const program = cluster.shared() / "home/colleague/flood";
        fs::copy_file(det::test::source_path("tests/attacks/programs/flood"), program,
                      fs::copy_options::overwrite_existing);
        auto const victim = cluster.shell("id -u");
        for (auto const* node : {"n0", "n1"}) {
            std::vector<std::string> const command{
                "--node=" + std::string(node), "--", "python3", program, victim, stop_};
            threads_.emplace_back([this, &cluster, command] {
                auto arguments =
                    std::vector<std::string>{"login", "--name=" + cluster.name(), "--user=colleague"};
                arguments.insert(arguments.end(), command.begin(), command.end());
                auto const output = run_cluster_command(arguments, 300s);
                std::lock_guard const lock(mutex_);
                printed_ += output.out + output.err;
            });
        }
    }
    ~Flood() { stop(); }
    Flood(Flood const&) = delete;
    Flood& operator=(Flood const&) = delete;

    /// \return the number of ports that were flooded
    std::ptrdiff_t stop() {
        must(write_file(stop_, "", 0644));
        threads_.clear();
        std::ptrdiff_t ports = 0;
        for (auto const line : split_lines(printed_)) ports += line.starts_with("port ") ? 1 : 0;
        BOOST_TEST_MESSAGE(printed_);
        return ports;
    }

private:
    fs::path stop_;
    std::mutex mutex_;
    std::string printed_;
    std::vector<std::jthread> threads_;
};

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {
        // The slots of this site are CPUs, because its GPUs are no devices.
        shell("printf 'version: 1\nname: loopback\npools: [{name: compute, slot_type: cpu}]\n' >site.yaml");
    }

    /// Runs a training on both nodes. Returns the job's output once it has completed; empty if it was
    /// removed, because it said no more than the logs.
    std::string train(std::string const& arguments) const {
        auto const made = nlohmann::json::parse(
            shell("DET_SITE=$HOME/site.yaml det-submit experiment create digits.yaml code --json "
                  "--config slurm.launch=rank --config slurm.mpi=none --config slurm.slots_per_node=2 "
                  "--config resources.slots_per_trial=4 --config max_restarts=0 " +
                  arguments));
        int const id = made.at("id");
        finish(id);
        BOOST_TEST(trial(id).at("runs").size() == 1u);
        wait_until([&] { return ask("job list").empty(); }, 60s, "the job ends");
        return shell(fmt::format("cd {}; ! ls slurm-*.out >/dev/null 2>&1 || cat slurm-*.out",
                                 directory(id).string()));
    }
    std::string run_script(std::string const& script) const {
        must(write_file(home() / "script", "#!/bin/bash\n" + script, 0644));
        return shell("rm -f out; sbatch --quiet --wait --output=out script; cat out");
    }
    std::string slurmd_log(std::string const& node) const {
        return must(read_file(LoopbackCluster::state() / "log" / fmt::format("slurmd.{}.log", node)));
    }
    std::string as_colleague(std::string const& script) const {
        auto const output = login("colleague", {"bash", "-c", "cd; " + script}, 60s);
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script << "\n" << output.out << output.err);
        return std::string(trim(output.out));
    }
};

}  // namespace attacks_ports

BOOST_FIXTURE_TEST_SUITE(attacks_ports, Site)

BOOST_AUTO_TEST_CASE(a_training_starts_and_ends_while_a_colleague_floods_the_ports_of_its_nodes) {
    auto const begin = std::chrono::steady_clock::now();
    train("--config searcher.max_length.epochs=2");
    auto const undisturbed = std::chrono::steady_clock::now() - begin;
    Flood flood(*this);
    auto const flooded_at = std::chrono::steady_clock::now();
    train("--config searcher.max_length.epochs=2");
    auto const flooded = std::chrono::steady_clock::now() - flooded_at;
    BOOST_TEST(flood.stop() >= 2);  // at least the store and a rank
    auto const in_s = [](auto time) { return std::chrono::duration<double>(time).count(); };
    BOOST_TEST((flooded < 2 * undisturbed + 15s),
               fmt::format("undisturbed {:.1f} s, flooded {:.1f} s", in_s(undisturbed), in_s(flooded)));
}

BOOST_AUTO_TEST_CASE(a_health_check_convicts_no_node_while_a_colleague_floods_its_port) {
    std::ptrdiff_t flooded_ports = 0;
    // The port of the check is open for a short time, which the flood may miss.
    for (int attempt = 0; attempt < 3 && flooded_ports == 0; ++attempt) {
        Flood flood(*this);
        auto const output = train(
            "--config slurm.health_check=true --config 'entrypoint=echo ran' --config "
            "searcher.max_length.epochs=1");
        flooded_ports = flood.stop();
        BOOST_TEST(contains(output, "n[0-1] passed the health check in "), output);
        BOOST_TEST(!contains(output, "fails the health check"), output);
    }
    BOOST_TEST(flooded_ports >= 1);
}

BOOST_AUTO_TEST_CASE(a_step_with_det_runs_where_a_colleague_has_taken_the_name_of_its_directory) {
    auto const uid = shell("id -u");
    as_colleague("srun --nodes=2 mkdir /tmp/det-" + uid);
    std::string const script =
        "#SBATCH --det --nodes=2 --ntasks-per-node=2\n"
        "srun sh -c 'ls $DET_RUN_DIR/info >/dev/null && echo ${DET_RUN_DIR%-*}'\n";
    auto const printed = run_script(script);
    BOOST_TEST(split_lines(printed).size() == 4u, printed);
    BOOST_TEST(contains(printed, "/tmp/det-" + uid), printed);
    std::string const list = "srun --nodes=2 sh -c 'ls -d /tmp/det-" + uid + "-* 2>/dev/null; true'";
    BOOST_TEST(shell(list) == "");
    // A killed step leaves its directory, and the next step removes it.
    run_script(
        "#SBATCH --det --nodes=2 --ntasks-per-node=1\n"
        "srun sh -c 'kill -9 $PPID; kill -9 $$' || true\n");
    run_script(script);
    BOOST_TEST(shell(list) == "");
    as_colleague("srun --nodes=2 rmdir /tmp/det-" + uid);
}

BOOST_AUTO_TEST_CASE(a_colleague_who_takes_names_blocks_neither_the_tracker_nor_a_step_without_the_plugin) {
    auto const uid = shell("id -u");
    auto const names = fmt::format("/tmp/det-{0} /var/tmp/det-{0}", uid);
    as_colleague("mkdir " + names);
    as_colleague("srun --nodes=2 mkdir /tmp/det-" + uid);
    std::string const clean = "env -u XDG_RUNTIME_DIR -u DET_INDEX_DIR ";
    shell(clean + "det-tracker start");
    auto const status = nlohmann::json::parse(shell(clean + "det-tracker status --json"));
    BOOST_TEST(status.dump().find("/tmp/det-tracker-" + uid + "-") != std::string::npos, status.dump(1));
    shell(clean + "det-tracker stop");
    auto const printed = shell(
        "DET_SPANK=auto srun --nodes=2 --ntasks-per-node=2 det-wrap-rank SLURM_PROCID sh -c 'ls "
        "$DET_RUN_DIR/info "
        ">/dev/null && echo ${DET_RUN_DIR%-*}'");
    BOOST_TEST(split_lines(printed).size() == 4u, printed);
    BOOST_TEST(contains(printed, "/tmp/det-" + uid + "-"), printed);
    as_colleague("rmdir " + names);
    as_colleague("srun --nodes=2 rmdir /tmp/det-" + uid);
}

BOOST_AUTO_TEST_CASE(no_option_or_variable_of_a_job_forges_a_line_of_slurmds_log) {
    std::string const forged = "error: Node n9 is mine";
    for (auto const* option : {"det", "det_wrap", "det_log", "det_launch"}) {
        // srun checks its own options. A job's environment reaches slurmstepd without it.
        as_colleague(
            fmt::format("export _SLURM_SPANK_OPTION_det_{}=$'x\\n[2026-01-01T00:00:00.000] {}'; srun "
                        "--nodes=1 --nodelist=n0 true || true",
                        option, forged));
    }
    as_colleague(fmt::format(
        "srun --nodes=1 --nodelist=n0 --det-log=$'/tmp/x\\n[2026-01-01T00:00:00.000] {}' true || true",
        forged));
    as_colleague(
        "export _SLURM_SPANK_OPTION_det_det_launch=$(head -c 100000 /dev/zero | tr '\\0' x); srun "
        "--nodes=1 --nodelist=n0 true || true");
    auto const log = slurmd_log("n0");
    BOOST_TEST(contains(log, "it is node or rank"), log);  // the errors were reported there
    for (auto const line : split_lines(log)) {
        BOOST_TEST(!line.starts_with("[2026-01-01T00:00:00.000]"), line);
        BOOST_TEST(line.size() < 4096u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
