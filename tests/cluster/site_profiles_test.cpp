// Each profile of the loopback site: what its policy does, and an experiment under it.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace site_profiles {

LoopbackOptions with_profile(std::string profile, std::vector<std::string> slurm_options) {
    auto options = DigitsCluster::with_plugin();
    options.profile = std::move(profile);
    options.slurm_options = std::move(slurm_options);
    return options;
}

struct Site : DigitsCluster {
    explicit Site(std::string profile, std::vector<std::string> slurm_options = {})
        : Site(with_profile(std::move(profile), std::move(slurm_options))) {}
    explicit Site(LoopbackOptions const& options) : DigitsCluster(options) {}

    void train(std::string const& arguments = "") const {
        auto const id = create("--template mpi --config searcher.max_length.epochs=4 " + arguments);
        finish(id);
        BOOST_TEST(accuracy(id) > 0.5);
    }
    /// Runs a command that must fail. Returns what it prints to stderr.
    std::string refusal(std::string const& command, std::string const& user = "researcher") const {
        auto const output = login(user, {"bash", "-c", "cd && " + command});
        BOOST_TEST(output.exit_code != 0, command << ": " << output.out);
        return output.err;
    }
};

std::string must_succeed(ProcessOutput const& output) {
    BOOST_TEST(output.exit_code == 0, output.err);
    return output.out;
}

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace site_profiles

BOOST_AUTO_TEST_SUITE(site_profiles)

BOOST_AUTO_TEST_CASE(with_memory_limits_a_job_gets_a_share_by_default_and_never_the_whole_node) {
    Site const site("memory");
    // A node has 4000 MiB, a job may have 3000.
    auto const too_large = site.shell("sbatch --parsable --mem=3500 --wrap true");
    site.wait_until(
        [&] { return site.shell("squeue --noheader --format=%r --jobs " + too_large) == "MaxMemPerLimit"; },
        20s, "the job waits for ever");
    site.shell("scancel " + too_large);
    BOOST_TEST(contains(site.shell("srun sh -c 'scontrol show job $SLURM_JOB_ID'"), "MinMemoryCPU=256M"));
    site.train("--config 'slurm.sbatch_args=[--mem=3000]'");
}

BOOST_AUTO_TEST_CASE(on_shared_nodes_two_jobs_have_a_type_of_slots_each) {
    Site const site("shared");
    BOOST_TEST(site.shell("sinfo --noheader --format=%G --partition=compute") == "gpu:a100:2,gpu:t4:2");
    // Both jobs are on n0 at the same time: each waits for the file of the other.
    auto const meet = [](char const* type, char const* mine, char const* other) {
        return fmt::format(
            "srun --nodelist=n0 --gres=gpu:{}:2 --cpus-per-task=2 sh -c "
            "'touch {}; until [ -e {} ]; do sleep 0.1; done; echo $CUDA_VISIBLE_DEVICES'",
            type, mine, other);
    };
    BOOST_TEST(site.shell(fmt::format("{{ {} & {}; wait; }} | sort", meet("a100", "one", "two"),
                                      meet("t4", "two", "one"))) == "0,1\n2,3");
    site.train("--config resources.slots_per_trial=2 --config slurm.gpu_type=a100");
}

BOOST_AUTO_TEST_CASE(on_a_node_with_two_sockets_a_rank_has_the_core_beside_its_gpu) {
    auto options = with_profile("two-sockets", {});
    options.nodes = 1;
    options.cpus = 4;
    Site const site(options);
    // GPUs 0 and 1 are at the socket with the cores 0 and 1, GPUs 2 and 3 at that with the cores 2 and 3.
    auto const gres = must(read_file(site.LoopbackCluster::state() / "etc/gres.conf"));
    BOOST_TEST(contains(gres, "gpu[0-1] Cores=0-1\n"), gres);
    BOOST_TEST(contains(gres, "gpu[2-3] Cores=2-3\n"), gres);
    site.shell(R"(cat >binding.yaml <<'END'
name: binding
entrypoint: echo bound $SLURM_LOCALID $SLURM_CPU_BIND_LIST $(grep Cpus_allowed_list /proc/self/status) end
max_restarts: 0
searcher: {name: single, metric: loss, max_length: 1}
resources: {slots_per_trial: 4}
slurm: {launch: rank, mpi: none}
END)"
               "\n");
    auto const id = site.ask("experiment create binding.yaml").at("id").get<int>();
    site.finish(id);
    auto const bound = site.shell(fmt::format("det-submit trial logs {}.0", id));
    // Slurm's masks of the ranks in their order. The machine of the test has at least the CPUs 0 and 1.
    BOOST_TEST(contains(bound, "bound 0 0x1,0x2,0x4,0x8 Cpus_allowed_list: 0 end"), bound);
    BOOST_TEST(contains(bound, "bound 1 0x1,0x2,0x4,0x8 Cpus_allowed_list: 1 end"), bound);

    // With slurm.bind the wrappers bind the ranks, whether srun or a launcher has started them.
    auto const cpus_of_ranks = [&](std::string const& arguments) {
        auto const other =
            site.ask("experiment create binding.yaml --config resources.slots_per_trial=2 " + arguments)
                .at("id")
                .get<int>();
        site.finish(other);
        auto const trial = site.ask(fmt::format("trial describe {}", other));
        std::vector<std::string> cpus;
        for (auto const& rank : trial.at("runs").at(0).at("ranks"))
            cpus.push_back(rank.at("cpus").get<std::string>());
        BOOST_REQUIRE(cpus.size() == 2u);
        return cpus;
    };
    auto const in_order = cpus_of_ranks("--config slurm.bind=cores --config slurm.mpi=default");
    BOOST_TEST(in_order[0].starts_with("0"), in_order[0]);
    BOOST_TEST(in_order[0] != in_order[1]);
    std::vector const swapped{in_order[1], in_order[0]};
    BOOST_TEST(
        cpus_of_ranks("--config slurm.bind=1,0 --config 'slurm.srun_args=[--mem-bind=none]'") == swapped,
        boost::test_tools::per_element());
    BOOST_TEST(cpus_of_ranks("--config slurm.bind=1,0 --config slurm.launch=node "
                             "--config 'entrypoint=det-launch true'") == swapped,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_a_filter_demands_account_and_time_the_users_defaults_reach_it) {
    Site const site("strict", {"PrivateData=jobs,usage"});
    BOOST_TEST(contains(site.refusal("unset SBATCH_ACCOUNT; sbatch --wrap true"), "requires --account"));
    BOOST_TEST(contains(site.refusal("unset SBATCH_TIMELIMIT; sbatch --wrap true"), "requires --time"));
    auto const refused = site.refusal("unset SBATCH_ACCOUNT; det-submit experiment create digits.yaml code");
    BOOST_TEST(contains(refused, "requires --account"), refused);
    site.train();
    // Another user's job is invisible.
    auto const mine = site.shell("sbatch --parsable --hold --wrap true");
    BOOST_TEST(must_succeed(site.login("colleague", {"squeue", "--noheader"})).empty());
    BOOST_TEST(site.shell("squeue --noheader --format=%i") == mine);
}

BOOST_AUTO_TEST_CASE(where_nodes_are_private_the_partition_tells_their_gpus) {
    Site const site("accounting", {"PrivateData=nodes"});
    BOOST_TEST(contains(site.refusal("sinfo --Node"), "permission denied"));
    BOOST_TEST(site.shell("srun --nodes=2 hostname | sort") == "n0\nn1");
    // The partition's TRES tells the GPUs (AccountingStorageTRES has gres/gpu): two nodes with four slots.
    auto const pool = site.ask("resource-pool list").at(0);
    BOOST_TEST(pool.at("slot_type") == "cuda", pool.dump());
    BOOST_TEST(pool.at("slots_per_node") == 4, pool.dump());
    site.train();
}

BOOST_AUTO_TEST_CASE(where_nothing_tells_the_gpus_of_private_nodes_a_warning_says_what_to_state) {
    Site const site("strict");
    BOOST_TEST(contains(site.refusal("sinfo --Node"), "permission denied"));
    BOOST_TEST(site.shell("srun --nodes=2 hostname | sort") == "n0\nn1");
    auto const warned = site.login(
        "researcher",
        {"bash", "-c",
         "cd && det-submit experiment create digits.yaml code --config resources.slots_per_trial=4 2>&1"});
    BOOST_TEST(contains(warned.out, "(PrivateData=nodes)"), warned.out);
    BOOST_TEST(contains(warned.out, "slot_type: cuda, slots_per_node: GPUs of a node"), warned.out);
    auto const checked = site.login("researcher", {"bash", "-c", "det-submit site check 2>&1"});
    BOOST_TEST(contains(checked.out, "the partition does not count their GPUs"), checked.out);
}

BOOST_AUTO_TEST_CASE(limits_of_the_accounting_database_hold_for_experiments) {
    Site const site("accounting");
    BOOST_TEST(contains(site.refusal("sbatch --wrap true", "colleague"), "account"));
    BOOST_TEST(
        site.shell("sacctmgr --noheader --parsable2 show associations user=researcher format=account") ==
        "lab");
    site.train();
    // slurmctld reports a job's end to slurmdbd later than to the user.
    site.wait_until(
        [&] {
            return contains(site.shell("sacct --noheader --parsable2 --allocations --format=jobname,state"),
                            "exp-1|COMPLETED");
        },
        30s, "accounting has the job's end");
    // A user may have 10 jobs: fewer than 12 array tasks run the 12 trials, and each task claims trials.
    auto const by_sbatch = site.refusal("sbatch --array=0-11 --wrap true");
    BOOST_TEST(contains(by_sbatch, "limit"), by_sbatch);
    site.shell(
        "printf '%s\\n' 'name: search' \"entrypoint: 'true'\" 'max_restarts: 0' "
        "'searcher: {name: random, metric: loss, max_trials: 12, max_concurrent_trials: 2}' "
        "'hyperparameters: {a: {type: int, minval: 0, maxval: 9}}' 'resources: {slots_per_trial: 4}' "
        "'slurm: {launch: rank, mpi: none}' > search.yaml");
    auto const search = site.ask("experiment create search.yaml").at("id").get<int>();
    site.finish(search);
    auto const trials = site.ask(fmt::format("experiment list-trials {}", search));
    BOOST_TEST(trials.size() == 12u);
    for (auto const& trial : trials) BOOST_TEST(trial.at("state") == "COMPLETED");
    auto const tasks = site.shell(
        fmt::format("squeue --noheader --array --states=all --format=%j | grep -c '^exp-{}$'", search));
    auto const task_count = parse_integer<int>(tasks).value();
    BOOST_TEST((task_count >= 1 && task_count <= 10), tasks);
}

BOOST_AUTO_TEST_SUITE_END()
