// Mistakes that administrators make, each made on a real Slurm: `site check` and `site try` name every one,
// and the file in which to correct it. tests/unit/site/misconfigurations_test.cpp has those that can't be
// made here.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"

using namespace det;

namespace site_mistakes {

namespace fs = std::filesystem;
using nlohmann::json;

/// A finding that a command must report.
struct Expected {
    std::string subject;
    std::string what;  // contained in the finding's
    std::string file;
};

struct Mistake {
    std::string name;
    std::string site_file;
    Expected expected;
};

LoopbackOptions with_lines(std::vector<std::string> lines) {
    LoopbackOptions options;
    options.profile = "plain";
    options.plugin = LoopbackOptions::Plugin::when_built;
    options.slurm_options = std::move(lines);
    return options;
}

struct Site : LoopbackCluster {
    explicit Site(LoopbackOptions const& options) : LoopbackCluster(options) {}

    void write_site_file(std::string const& text) const {
        std::ofstream(home() / "site.yaml") << "version: 1\n" << text;
        fs::permissions(home() / "site.yaml", fs::perms(0644));
    }
    /// The findings of a command that researcher runs after the commands `before`.
    json ask(std::string const& command, std::string const& before = "true") const {
        auto const text = shell(fmt::format(
            "export DET_SITE=$HOME/site.yaml; {}; det-submit {} --json || true", before, command));
        auto const answer = json::parse(text, nullptr, false);
        BOOST_REQUIRE_MESSAGE(answer.is_object(), command + ": " + text);
        return answer.at("findings");
    }
};

/// Whether the findings contain a change with a reason and a remedy, of the expected subject.
bool contains(json const& findings, Expected const& expected) {
    for (auto const& each : findings) {
        auto const has = [&](char const* key, std::string const& text) {
            return each.at(key).get<std::string>().find(text) != std::string::npos;
        };
        bool const is_explained = !each.at("why").get<std::string>().empty() && !each.at("change").empty();
        if (each.at("weight") == "change" && has("subject", expected.subject) && has("what", expected.what) &&
            each.at("file") == expected.file && is_explained)
            return true;
    }
    return false;
}

void check_mistakes(Site const& site, std::vector<Mistake> const& mistakes) {
    for (auto const& mistake : mistakes) {
        BOOST_TEST_CONTEXT(mistake.name) {
            site.write_site_file(mistake.site_file);
            auto const findings = site.ask("site check");
            BOOST_TEST(contains(findings, mistake.expected), findings.dump(1));
        }
    }
}

std::string pool(std::string const& settings) { return "pools: [{name: compute, " + settings + "}]\n"; }

}  // namespace site_mistakes

using namespace site_mistakes;

BOOST_AUTO_TEST_SUITE(site_mistakes)

BOOST_AUTO_TEST_CASE(mistakes_in_the_site_file) {
    Site const site(with_lines({"PartitionName=short Nodes=ALL MaxTime=1-00:00:00 State=UP PreemptMode=OFF",
                                "SelectTypeParameters=CR_Core_Memory"}));
    site.write_site_file("");
    for (auto const& each : site.ask("site check")) BOOST_TEST(each.at("weight") == "note", each.dump());
    check_mistakes(
        site, {{"the site file names a partition that does not exist",
                "pools: [{name: a, partition: computer}]\n",
                {"pool 'a'", "computer", "site.yaml"}},
               {"the default pool does not exist", "default_compute_pool: gpus\n", {"", "gpus", "site.yaml"}},
               {"no node has the constraint of a pool",
                pool("constraint: nvlink"),
                {"pool 'compute'", "no node", "site.yaml"}},
               {"a pool has more slots per node than its nodes have GPUs",
                pool("slots_per_node: 8"),
                {"pool 'compute'", "slots_per_node is 8, its nodes have 4 GPUs", "site.yaml"}},
               {"the time limit of a pool is above MaxTime",
                "pools: [{name: short, limits: {time: 2-00:00:00}}]\n",
                {"pool 'short'", "MaxTime", "site.yaml"}},
               {"fair share is promised and not weighed",
                "scheduler: fair_share\n",
                {"Slurm", "does not weigh shares", "slurm.conf"}},
               {"projects are set and not counted",
                "job_project_source: project\n",
                {"Slurm", "TrackWCKey is no", "slurm.conf"}},
               {"jobs that share a node see each other's GPUs",
                pool("exclusive: false"),
                {"pool 'compute'", "ConstrainDevices is no", "cgroup.conf"}},
               {"a job that asks for no memory gets all of it",
                pool("whole_memory: false"),
                {"pool 'compute'", "there is no DefMemPerNode", "slurm.conf"}}});
}

BOOST_AUTO_TEST_CASE(mistakes_in_slurm_conf) {
    auto options =
        with_lines({"PreemptMode=SUSPEND,GANG", "JobRequeue=0", "MaxArraySize=1",
                    "PartitionName=compute Nodes=ALL Default=YES PriorityTier=1 GraceTime=5 "
                    "PreemptMode=REQUEUE State=UP",
                    "PartitionName=suspended Nodes=ALL PriorityTier=1 PreemptMode=SUSPEND State=UP",
                    "PartitionName=forced Nodes=ALL OverSubscribe=FORCE:2 PreemptMode=OFF State=UP",
                    "PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE PreemptMode=OFF State=UP",
                    "PartitionName=empty PreemptMode=OFF State=UP"});
    options.slots = 0;
    Site const site(options);
    check_mistakes(
        site,
        {{"the cluster suspends the jobs that it preempts", "", {"Slurm", "PreemptMode is ", "slurm.conf"}},
         {"a partition suspends the jobs that it preempts", "", {"'suspended'", "SUSPEND", "slurm.conf"}},
         {"jobs are not requeued", "", {"Slurm", "JobRequeue is 0", "slurm.conf"}},
         {"there are no job arrays", "", {"Slurm", "MaxArraySize is 1", "slurm.conf"}},
         {"GraceTime is too short for a checkpoint", "", {"'compute'", "GraceTime is 5 s", "slurm.conf"}},
         {"OverSubscribe=FORCE takes whole nodes away",
          "",
          {"'forced'", "OverSubscribe is FORCE", "slurm.conf"}},
         {"a shared pool lies on a partition of whole nodes",
          "pools: [{name: whole, exclusive: false}]\n",
          {"'whole'", "OverSubscribe is EXCLUSIVE", "slurm.conf"}},
         {"a partition has no nodes", "pools: [{name: empty}]\n", {"'empty'", "has no nodes", "slurm.conf"}},
         {"Slurm does not know the GPUs",
          pool("slot_type: cuda, slots_per_node: 4"),
          {"'compute'", "no GPUs", "slurm.conf and gres.conf"}}});
}

BOOST_AUTO_TEST_CASE(mistakes_in_plugstack_conf) {
    Site const site(with_lines({}));
    site.write_site_file("");
    auto const plugstack = site.state() / "etc" / "plugstack.conf";
    std::string line;
    std::getline(std::ifstream(plugstack), line);
    BOOST_REQUIRE(line.find("wrapper=") != std::string::npos);
    auto const findings_with = [&](std::string const& text) {
        std::ofstream(plugstack) << text << '\n';
        return site.ask("site check");
    };
    auto const has = [](json const& findings, std::string const& weight, std::string const& what) {
        return std::ranges::any_of(findings, [&](json const& each) {
            return each.at("subject") == "the plugin" && each.at("weight") == weight &&
                   each.at("what").get<std::string>().find(what) != std::string::npos;
        });
    };
    auto const without_wrapper = findings_with(line.substr(0, line.find("wrapper=")));
    BOOST_TEST(has(without_wrapper, "change", "wrapper"), without_wrapper.dump(1));
    auto const object = line.substr(line.find('/'), line.find(" wrapper=") - line.find('/'));
    auto const required = findings_with("required " + object + line.substr(line.find(" wrapper=")));
    BOOST_TEST(has(required, "change", "required"), required.dump(1));
    auto const missing =
        findings_with("optional /nowhere/spank_det.so" + line.substr(line.find(" wrapper=")));
    BOOST_TEST(has(missing, "note", "/nowhere/spank_det.so"), missing.dump(1));
    auto const other = findings_with("optional " + object + " wrapper=/nowhere/det-wrap-rank");
    BOOST_TEST(has(other, "note", "/nowhere/det-wrap-rank"), other.dump(1));
}

BOOST_AUTO_TEST_CASE(mistakes_in_accounts) {
    auto options = with_lines({});
    options.profile = "accounting";
    Site const site(options);
    check_mistakes(site, {{"the user may not use the QOS of a pool",
                           pool("qos: urgent"),
                           {"pool 'compute'", "urgent", "sacctmgr"}}});
    auto const answer =
        site.login("colleague", {"bash", "-c", "unset DET_SITE; det-submit site check --json"});
    auto const findings = json::parse(answer.out).at("findings");
    BOOST_TEST_CONTEXT("the user has no account") {
        BOOST_TEST(contains(findings, {"user 'colleague'", "has no association", "sacctmgr"}),
                   findings.dump(1));
    }
}

BOOST_AUTO_TEST_CASE(mistakes_that_only_a_job_sees) {
    Site const site(with_lines({"PropagateResourceLimits=ALL"}));
    auto const check = [&](std::string const& name, std::string const& before, Expected const& expected) {
        BOOST_TEST_CONTEXT(name) {
            auto const findings = site.ask("site try --pool compute", before);
            BOOST_TEST(contains(findings, expected), findings.dump(1));
        }
    };
    site.write_site_file("");
    std::string const node = "node 'n1'";
    // The nodes have no devices.
    check("gres.conf names other devices", "true",
          {node, "Slurm gave 1 GPU, and 0 can be opened", "gres.conf"});
    // /tmp of a node is its own.
    check("the root is not on a shared file system", "mkdir -p /tmp/det && export DET_ROOT=/tmp/det",
          {"pool 'compute'", "reported nothing", "the installation"});
    check("jobs may open few files", "ulimit -Sn 1024", {node, "at most 1024 files", "the unit of slurmd"});
    check("the address space of jobs is limited", "ulimit -Sv 16777216",
          {node, "the address space is limited to 16.0 GiB", "slurm.conf"});
    check("checkpoints can't be written", "mkdir -p $DET_ROOT/checkpoints && chmod 500 $DET_ROOT/checkpoints",
          {node, "checkpoints can't be written", "the configuration"});
    site.shell("chmod 700 $DET_ROOT/checkpoints");
    site.write_site_file(pool("container_runtime: apptainer"));
    check("the container runtime is not installed", "true", {node, "apptainer does not run", "site.yaml"});
}

BOOST_AUTO_TEST_SUITE_END()
