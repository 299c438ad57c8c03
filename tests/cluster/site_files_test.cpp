// The ready site files of site-configs/, each on a Slurm of the shape that its README describes: `site check`
// finds nothing to change, the pools are there, and a trial runs.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace site_files {

namespace fs = std::filesystem;

constexpr char no_compute[] = "PartitionName=compute Nodes=ALL State=UP PreemptMode=OFF";

LoopbackOptions shape(int slots, std::vector<std::string> lines, std::string profile = "plain") {
    LoopbackOptions options;
    options.slots = slots;
    options.profile = std::move(profile);
    options.plugin = LoopbackOptions::Plugin::when_built;
    options.slurm_options = std::move(lines);
    options.slurm_options.insert(
        options.slurm_options.end(),
        {no_compute, "SchedulerParameters=enable_user_top,sched_interval=1,bf_interval=1"});
    return options;
}

struct Site : LoopbackCluster {
    Site(std::string const& folder, LoopbackOptions const& options) : LoopbackCluster(options) {
        fs::copy_file(det::test::source_path("site-configs/" + folder + "/site.yaml"), home() / "site.yaml");
        fs::permissions(home() / "site.yaml", fs::perms(0644));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(
            shell("export DET_SITE=$HOME/site.yaml; det-submit " + command + " --json || true"));
    }
    /// What `site check` says has to change, a line each.
    std::string changes() const {
        std::string text;
        auto const answer = ask("site check");
        for (auto const& finding : answer.at("findings")) {
            if (finding.at("weight") == "change")
                text += fmt::format("{}: {}\n", finding.at("subject").get<std::string>(),
                                    finding.at("what").get<std::string>());
        }
        return text;
    }
    std::string pools() const {
        std::string names;
        for (auto const& pool : ask("resource-pool list")) names += pool.at("name").get<std::string>() + " ";
        return names;
    }
    /// Runs a trial of one slot in the default pool.
    void run_trial() const {
        shell(
            "export DET_SITE=$HOME/site.yaml; mkdir code; echo 'echo it runs' >code/run; "
            "printf '%s\\n' 'name: x' 'entrypoint: sh run' 'searcher: {name: single, metric: x, max_length: "
            "1}' "
            "'resources: {slots_per_trial: 1}' >x.yaml; det-submit experiment create x.yaml code && "
            "det-submit experiment wait 1 --timeout 50 && det-submit trial logs 1 | grep 'it runs'");
    }
};

}  // namespace site_files

using namespace site_files;

BOOST_AUTO_TEST_SUITE(site_files)

BOOST_AUTO_TEST_CASE(a_cluster_without_gpus) {
    Site const site("cpu-only",
                    shape(0, {"SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=100",
                              "PartitionName=batch Nodes=ALL Default=YES State=UP PreemptMode=OFF"}));
    BOOST_TEST(site.changes() == "");
    BOOST_TEST(site.pools().starts_with("batch "));
    site.run_trial();
}

BOOST_AUTO_TEST_CASE(a_small_cluster_of_equal_gpu_nodes) {
    Site const site(
        "small-gpu",
        shape(4, {"PartitionName=gpu Nodes=ALL Default=YES MaxTime=7-00:00:00 State=UP PreemptMode=OFF"}));
    BOOST_TEST(site.changes() == "");
    BOOST_TEST(site.pools().starts_with("gpu "));
    site.run_trial();
    // Jobs have the name of their experiment, and Slurm chooses the partition: not that of the pool's nodes.
    BOOST_TEST(
        site.shell("printf '%s\\n' 'version: 1' 'job_name: \"%n-%i\"' "
                   "'pools: [{name: any, partition: compute, pass_partition: false}, "
                   "{name: either, partition: \"gpu,compute\"}]' >named.yaml; "
                   "export DET_SITE=$HOME/named.yaml; det-submit experiment create x.yaml code "
                   "--paused --config resources.resource_pool=any >/dev/null; "
                   "det-submit experiment create x.yaml code --paused --config "
                   "resources.resource_pool=either >/dev/null; squeue --noheader --format='%j %P' --sort=i | "
                   "sed 's/-[0-9]* / N /'") == "x N gpu\nx N gpu,compute");
}

BOOST_AUTO_TEST_CASE(gpu_nodes_that_jobs_share) {
    Site const site(
        "shared-gpu",
        shape(4, {"PartitionName=gpu Nodes=ALL Default=YES State=UP PreemptMode=OFF OverSubscribe=NO"},
              "shared"));
    // The loopback site has no devices that a cgroup could hide.
    BOOST_TEST(site.changes() ==
               "pool 'a100': exclusive is false, and ConstrainDevices is no\n"
               "pool 't4': exclusive is false, and ConstrainDevices is no\n");
    BOOST_TEST(site.pools() == "a100 t4 ");
    site.run_trial();
}

BOOST_AUTO_TEST_CASE(preemption_by_partition) {
    Site const site("priority-preemption",
                    shape(4, {"PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE "
                              "GraceTime=120 State=UP",
                              "PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP"}));
    BOOST_TEST(site.changes() == "");
    BOOST_TEST(site.pools().starts_with("batch urgent "));
    site.run_trial();
}

BOOST_AUTO_TEST_CASE(preemption_by_qos) {
    Site const site("qos-preemption",
                    shape(8, {"PreemptType=preempt/qos", "PartitionName=gpu Nodes=ALL Default=YES State=UP"},
                          "accounting"));
    BOOST_TEST(site.changes() != "");  // the accounts may not use the QOSs yet
    auto const made = site.login(
        "root",
        {"bash", "-c",
         "sacctmgr --immediate add qos scavenger GraceTime=120 PreemptMode=requeue && "
         "sacctmgr --immediate modify qos normal set GraceTime=120 PreemptMode=requeue Preempt=scavenger && "
         "sacctmgr --immediate add qos high Preempt=normal,scavenger && "
         "sacctmgr --immediate modify user researcher set qos+=high,normal,scavenger"});
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.out << made.err);
    BOOST_TEST(site.changes() == "");
    BOOST_TEST(site.pools() == "normal high scavenger ");
    site.run_trial();
    BOOST_TEST(site.shell("export DET_SITE=$HOME/site.yaml; det-submit rp list --json | jq -r '.[] | "
                          "[.name, .preempt_mode, .grace_time_seconds] | join(\" \")'") ==
               "normal REQUEUE 120\nhigh OFF 0\nscavenger REQUEUE 120");
    BOOST_TEST(site.shell("jq .body.notice_s $DET_ROOT/experiments/1/spec.json") == "120");
    // A job that asks for more than its QOS's MaxWall would wait for ever. Without a choice it gets that.
    auto const limited = site.login(
        "root", {"bash", "-c", "sacctmgr --immediate modify qos normal set MaxWall=2:00:00 GraceTime=20"});
    BOOST_REQUIRE_MESSAGE(limited.exit_code == 0, limited.out << limited.err);
    std::string const create =
        "export DET_SITE=$HOME/site.yaml; rm -rf $DET_CACHE /var/tmp/det-$UID; det-submit experiment create "
        "x.yaml code ";
    auto const refused = site.shell(create + "--config 'slurm.sbatch_args=[--time=180]' 2>&1 || true");
    BOOST_TEST(refused.find("--time=180 is more than the 02:00:00 that QOS 'normal' gives a job") !=
                   std::string::npos,
               refused);
    // Another QOS only where the site opens it.
    auto const closed = site.shell(create + "--config 'slurm.sbatch_args=[--qos=high]' 2>&1 || true");
    BOOST_TEST(closed.find("--qos=high: pool 'normal' has --qos=normal") != std::string::npos, closed);
    BOOST_TEST(
        site.shell("sed -i 's/^pools:/user_options: [qos, partition]\\npools:/' site.yaml; " + create +
                   "--paused --config 'slurm.sbatch_args=[--qos=high, --partition=compute, --time=180]' "
                   ">/dev/null; squeue --noheader --format='%q %P'") == "high compute");
}

BOOST_AUTO_TEST_CASE(gpus_of_several_types_and_nodes_without) {
    auto options = shape(8,
                         {"PartitionName=gpu Nodes=n[0-1] Default=YES DefMemPerCPU=100 MaxTime=2-00:00:00 "
                          "State=UP PreemptMode=OFF",
                          "PartitionName=cpu Nodes=n2 DefMemPerCPU=100 State=UP PreemptMode=OFF"},
                         "mixed-nodes");
    options.nodes = 3;
    Site const site("large-gpu", options);
    auto const made =
        site.login("root", {"bash", "-c",
                            "sacctmgr --immediate add qos debug MaxTRESPerUser=node=2 Priority=1000 && "
                            "sacctmgr --immediate modify user researcher set qos+=debug"});
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.out << made.err);
    BOOST_TEST(site.changes() == "");
    BOOST_TEST(site.pools() == "a100 v100 any debug cpu ");
    site.run_trial();
    // The accounts of a user by which this site shares out are named, whatever their shares are by now.
    auto const second = site.login("root", {"bash", "-c",
                                            "sacctmgr --immediate add account second && "
                                            "sacctmgr --immediate add user researcher account=second"});
    BOOST_REQUIRE_MESSAGE(second.exit_code == 0, second.out << second.err);
    auto const refused = site.shell(
        "job=$(sbatch --parsable --hold --partition=cpu --wrap=true); scontrol release $job; "
        "scontrol update jobid=$job starttime=now+3600; det-submit job update $job --weight 2 2>&1 || true; "
        "scancel $job");
    BOOST_TEST(refused.find("your accounts") != std::string::npos, refused);
    BOOST_TEST(refused.find("second 0") != std::string::npos, refused);
    auto const script = site.shell(
        "export DET_SITE=$HOME/site.yaml; det-submit experiment create x.yaml code --dry-run "
        "--config resources.resource_pool=v100");
    BOOST_TEST(script.find("#SBATCH --gres=gpu:v100:4\n") != std::string::npos, script);
}

BOOST_AUTO_TEST_SUITE_END()
