// Mistakes of users, on a real Slurm: each gives a clear error and its documented exit code, and leaves no
// files.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>

#include "digits_cluster.hpp"

using namespace det;

namespace bad_input {

struct Mistake {
    std::string what;
    std::string script;  // runs in the home directory; $create is `det-submit experiment create`
    int exit_code;
    std::string error;  // part of stderr
};

std::vector<Mistake> const mistakes{
    {"a missing file", "$create missing.yaml", 4, "cannot open 'missing.yaml'"},
    {"a directory in place of a file", "$create code", 3, "'code' is a directory [not-a-file]"},
    {"YAML that does not parse", "printf 'name: [a\\n' >bad.yaml; $create bad.yaml", 3,
     "bad.yaml:1:7: error:"},
    {"an unknown key", "sed 's/slots_per_trial/slot_per_trial/' digits.yaml >bad.yaml; $create bad.yaml", 3,
     "hint: use 'slots_per_trial'"},
    {"a wrong type", "$create digits.yaml --config resources.slots_per_trial=many", 3, "[wrong-type]"},
    {"an unknown template", "$create digits.yaml --template nope", 4, "there is no template 'nope'"},
    {"a missing context", "$create digits.yaml nowhere", 4, "cannot open the context 'nowhere'"},
    {"a file in place of a context", "$create digits.yaml digits.yaml", 3, "[not-a-directory]"},
    {"a context over 95 MiB", "mkdir -p big; head -c 100000000 /dev/zero >big/x; $create digits.yaml big", 3,
     "[context-too-large]"},
    {"slots that are no whole nodes", "$create digits.yaml --config resources.slots_per_trial=6", 3,
     "6 slots are no whole number of nodes: pool 'compute' has 2 nodes of 4 slots"},
    {"more slots than there are", "$create digits.yaml --config resources.slots_per_trial=16", 3,
     "[slots-do-not-fit]"},
    {"a partition that does not exist", "$create digits.yaml --config resources.resource_pool=nope", 3,
     "there is no resource pool 'nope'"},
    {"an option that does not exist", "$create digits.yaml --nope", 2, "--nope"},
    {"no Slurm installed",
     "program=$(command -v det-submit); PATH=/var/empty $program experiment create digits.yaml", 6,
     "is not installed here"},
};

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    ProcessOutput run(std::string const& script) const {
        return login("researcher", {"bash", "-c", "cd; create='det-submit experiment create'; " + script});
    }

    /// The names of files below the root, except packed code: if nodes are not up, Slurm refuses the job only
    /// after the code was packed.
    std::string remaining_files() const {
        std::string names;
        for (auto const& name : list_directory(root()).value_or(std::vector<std::string>())) {
            if (name != "contexts") names += name + " ";
        }
        return names;
    }

    void check(Mistake const& mistake) const {
        BOOST_TEST_CONTEXT(mistake.what) {
            auto const output = run(mistake.script);
            BOOST_TEST(output.exit_code == mistake.exit_code, output.exit_code << ": " << output.err);
            BOOST_TEST(output.err.find(mistake.error) != std::string::npos, output.err);
            BOOST_TEST(output.err.find("error:") != std::string::npos, output.err);
            BOOST_TEST(output.out == "");
            BOOST_TEST(remaining_files() == "");
            BOOST_TEST(shell("squeue --noheader") == "");
        }
    }
};

}  // namespace bad_input

BOOST_FIXTURE_TEST_SUITE(bad_input, Site)

BOOST_AUTO_TEST_CASE(every_mistake_is_reported_and_leaves_no_files) {
    for (auto const& mistake : mistakes) check(mistake);
}

BOOST_AUTO_TEST_CASE(a_refusal_by_slurm_shows_its_message_and_leaves_no_files) {
    command({"daemon", "kill", "slurmctld"});
    auto const output = run("$create digits.yaml code");
    BOOST_TEST(output.exit_code == 6, output.err);
    BOOST_TEST(output.err.find("Unable to contact slurm controller") != std::string::npos, output.err);
    BOOST_TEST(list_directory(root()).value_or(std::vector<std::string>()).empty());
    command({"daemon", "start", "slurmctld"});

    shell("scontrol show config >/dev/null");
    auto const closed = login("root", {"scontrol", "update", "PartitionName=compute", "State=DRAIN"});
    BOOST_REQUIRE_MESSAGE(closed.exit_code == 0, closed.err);
    check({"a partition that takes no job", "$create digits.yaml code", 5, "[slurm-refused]"});
}

BOOST_AUTO_TEST_CASE(every_command_reports_an_experiment_that_does_not_exist) {
    for (auto const* command : {"experiment describe 9", "experiment wait 9", "experiment list-checkpoints 9",
                                "trial logs 9", "trial metrics 9.1", "experiment describe x"}) {
        auto const output = run(std::string("det-submit ") + command);
        BOOST_TEST(output.exit_code == 4, command << ": " << output.exit_code << output.err);
    }
    for (auto const* command : {"trial logs 1.2.3", "trial metrics -1", "trial"}) {
        auto const output = run(std::string("det-submit ") + command);
        BOOST_TEST(output.exit_code == 2, command << ": " << output.exit_code << output.err);
    }
}

BOOST_AUTO_TEST_SUITE_END()
