// Tests how commands use the site file: its allowed owners, its defaults and limits, what site check reports.
#include <det/experiment/load_site.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_trust.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "create_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace site_file_test {

struct Fixture : CreateFixture {
    std::filesystem::path file = directory / "site.yaml";

    Fixture() {
        environment.set("DET_SITE", file.string());
        slurm.partition_list[0].nodes[0].names = "n[0-3]";
    }
    void write(std::string const& text) const { must(write_file(file, "version: 1\n" + text)); }
    ErrorCode refusal() const { return must_fail(load_site_file(environment)).sorted().at(0).error.code; }
    std::string show(std::string const& options) {
        BOOST_TEST(run("config show " + (directory / "exp.yaml").string() + options) == 0, err);
        return out;
    }
    std::string submitted() const { return join(slurm.submissions.back().options, " "); }
};

}  // namespace site_file_test

BOOST_FIXTURE_TEST_SUITE(site_file_test, Fixture)

BOOST_AUTO_TEST_CASE(a_site_file_that_others_can_write_is_refused) {
    write("");
    BOOST_TEST(must(load_site_file(environment)).exists());
    for (mode_t const mode : {0620u, 0602u, 0666u}) {
        BOOST_REQUIRE(::chmod(file.c_str(), mode) == 0);
        BOOST_TEST((refusal() == codes::unsafe_owner));
    }
    BOOST_REQUIRE(::chmod(file.c_str(), 0644) == 0);  // all may read it
    BOOST_TEST(load_site_file(environment).has_value());
    BOOST_REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);  // all may replace it
    BOOST_TEST((refusal() == codes::unsafe_owner));
    BOOST_REQUIRE(::chmod(directory.path().c_str(), 01777) == 0);  // sticky, as /tmp: others can't replace it
    BOOST_TEST(load_site_file(environment).has_value());
    BOOST_REQUIRE(::chmod(directory.path().c_str(), 0700) == 0);
    if (::geteuid() == 0) {
        BOOST_REQUIRE(::chown(file.c_str(), 65534, 65534) == 0);
        BOOST_TEST((refusal() == codes::unsafe_owner));
        TemporaryDirectory mine;
        std::filesystem::create_symlink(file, mine / "link.yaml");  // a link of ours does not make it ours
        environment.set("DET_SITE", (mine / "link.yaml").string());
        BOOST_TEST((refusal() == codes::unsafe_owner));
    }
}

BOOST_AUTO_TEST_CASE(the_owner_of_the_installation_and_trusted_owners_may_own_what_the_site_provides) {
    constexpr uid_t service = 50'010, stranger = 50'011;
    constexpr gid_t admins = 50'012;
    auto const give = [&](uid_t user, gid_t group, mode_t mode) {
        BOOST_REQUIRE(::chown(file.c_str(), user, group) == 0 && ::chmod(file.c_str(), mode) == 0);
    };
    if (::geteuid() != 0) return;
    write("");
    TrustRules rules = installation_rules();
    BOOST_TEST(rules.owners == std::vector<uid_t>{::geteuid()});  // root has built the program of this test
    rules.owners.push_back(service);
    rules.groups.push_back(admins);
    auto const is_trusted = [&] { return check_trusted_path(file, rules).has_value(); };
    give(service, service, 0644);
    BOOST_TEST(is_trusted());
    give(stranger, service, 0644);
    BOOST_TEST(!is_trusted());
    give(service, admins, 0664);
    BOOST_TEST(is_trusted());
    give(service, stranger, 0664);
    BOOST_TEST(!is_trusted());
    give(service, admins, 0666);
    BOOST_TEST(!is_trusted());
    // A site file can't vouch for itself, but for the files that it names.
    write("trusted_owners: [nobody, 'group:nogroup', no-such-user]\njob_template: " + file.string() + "\n");
    give(65534, 65534, 0644);
    BOOST_TEST((refusal() == codes::unsafe_owner));
    give(0, 0, 0644);
    auto const site = must(load_site_file(environment));
    BOOST_TEST(site_rules(site).owners.back() == 65534u);
    BOOST_TEST(site_rules(site).groups == std::vector<gid_t>{65534});
    BOOST_TEST(find_unknown_owners(site) == std::vector<std::string>{"no-such-user"});
    must(write_file(directory / "job", "x", 0644));
    BOOST_REQUIRE(::chown((directory / "job").c_str(), 65534, 65534) == 0);
    auto of_service = site;
    of_service.job_template = (directory / "job").string();
    BOOST_TEST(must(load_job_template(of_service)) == "x");
    of_service.trusted_owners.clear();
    BOOST_TEST((must_fail(load_job_template(of_service)).code == codes::unsafe_owner));
}

BOOST_AUTO_TEST_CASE(a_named_site_file_must_exist) {
    BOOST_TEST((refusal() == codes::no_such_file));
    environment.set("DET_SITE", directory.path().string());
    BOOST_TEST((refusal() == codes::not_a_file));
    environment.unset("DET_SITE");
    BOOST_TEST(load_site_file(environment).has_value());  // most clusters have none
}

BOOST_AUTO_TEST_CASE(the_site_file_sets_the_root) {
    write("storage_root: " + directory.path().string() + "/roots/%u\n");
    environment.unset("DET_ROOT");
    auto const path = directory.path() / "roots" / user_name(environment);
    BOOST_TEST(must(find_root(environment)).path() == path);
    environment.set("DET_ROOT", "/elsewhere");
    BOOST_TEST(must(find_root(environment)).path() == "/elsewhere");
    environment.unset("DET_ROOT");
    write("storage_rot: /x\n");
    BOOST_TEST((must_fail(find_root(environment)).code == codes::unknown_key));
}

BOOST_AUTO_TEST_CASE(a_site_may_have_its_own_batch_script) {
    auto const mine = directory / "mine.sbatch";
    write("job_template: " + mine.string() + "\n");
    BOOST_TEST(create(" --dry-run") == to_int(ExitCode::absent));
    must(write_file(mine,
                    "#!/bin/bash\n{{sbatch_options}}\n# for {{#name}}\nexec {{det_launch}} {{trial}}\n"));
    BOOST_TEST(create(" --dry-run") == 0, err);
    BOOST_TEST(contains(out, "# for example\nexec "), out);
    BOOST_TEST(!contains(out, "trap"), out);
    BOOST_REQUIRE(::chmod(mine.c_str(), 0622) == 0);
    BOOST_TEST(create(" --dry-run") != 0);
    BOOST_TEST(contains(err, "others can write into the job template"), err);
    must(write_file(mine, "{{nonsense}}\n"));
    BOOST_TEST(create(" --dry-run") != 0);
    BOOST_TEST(contains(err, "unknown value '{{nonsense}}'"), err);
}

BOOST_AUTO_TEST_CASE(site_defaults_are_below_templates_and_invariants_above_everything) {
    write(
        "default_compute_pool: compute\n"
        "sbatch_args: [--nice=1]\n"
        "task_defaults: {max_restarts: 1, description: site, scheduling_unit: 7}\n"
        "invariants: {debug: true}\n"
        "pools:\n"
        "  - name: compute\n"
        "    sbatch_args: [--nice=2]\n"
        "    task_defaults: {max_restarts: 2, description: pool}\n"
        "    network_interface: hsn0\n"
        "    invariants: {records_per_epoch: 5}\n"
        "  - {name: other, partition: compute, task_defaults: {max_restarts: 9}}\n");
    must(make_directories(root.templates()));
    must(write_file(root.templates() / "mine.yaml",
                    "description: template\nslurm: {sbatch_args: [--nice=3]}\n"));
    must(write_file(directory / "exp.yaml", config_text() + "slurm: {sbatch_args: [--nice=4]}\n"));
    auto const options = " --template mine --config debug=false --config records_per_epoch=1";
    auto const config = parse_json(show(std::string(options) + " --json"));
    BOOST_TEST(config["scheduling_unit"] == 7);
    BOOST_TEST(config["max_restarts"] == 2);
    BOOST_TEST(config["description"] == "template");
    BOOST_TEST(config["debug"] == true);
    BOOST_TEST(config["records_per_epoch"] == 5);
    BOOST_TEST(config["slurm"]["sbatch_args"] == Json({"--nice=1", "--nice=2", "--nice=3", "--nice=4"}));
    BOOST_TEST(config["environment"]["environment_variables"]["cuda"] ==
               Json({"DET_INTER_NODE_NETWORK_INTERFACE=hsn0"}));
    BOOST_TEST(contains(err, "warning: debug: an invariant of the site replaces this value"), err);
    BOOST_TEST(contains(err, "hint: see " + file.string() + ":5:"), err);
    BOOST_TEST(!contains(err, "max_restarts"), err);
    auto const explained = show(std::string(options) + " --explain");
    auto const line_of = [&](std::string_view key) -> std::string {
        for (auto const line : split_lines(explained)) {
            if (line.starts_with(key)) return std::string(line.substr(line.find('#')));
        }
        return "";
    };
    BOOST_TEST(line_of("max_restarts:") == "# " + file.string() + ":9");
    BOOST_TEST(line_of("scheduling_unit:") == "# " + file.string() + ":4");
    BOOST_TEST(line_of("debug:") == "# " + file.string() + ":5");
    BOOST_TEST(line_of("records_per_epoch:") == "# " + file.string() + ":11");
    BOOST_TEST(parse_json(show(" --config resources.resource_pool=other --json"))["max_restarts"] == 9);
    BOOST_TEST(slurm.calls.empty());  // the file has all facts
}

BOOST_AUTO_TEST_CASE(slurm_is_queried_for_the_default_pool_if_the_file_names_none) {
    write("pools: [{name: compute, task_defaults: {max_restarts: 2}}]\n");
    BOOST_TEST(parse_json(show(" --json"))["max_restarts"] == 2);
    slurm.is_down = true;
    BOOST_TEST(parse_json(show(" --json"))["max_restarts"] == 5);
    BOOST_TEST(contains(err, "warning"), err);
    BOOST_TEST(contains(err, "names no default_compute_pool"), err);
}

BOOST_AUTO_TEST_CASE(a_contradiction_between_invariants_and_configuration_is_an_error) {
    write("invariants: {labels: {a: true}, name: [x]}\n");
    BOOST_TEST(run("config show " + (directory / "exp.yaml").string()) == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "site.yaml:2"), err);
}

BOOST_AUTO_TEST_CASE(an_experiment_is_submitted_to_the_sites_pool) {
    write(
        "default_compute_pool: fast\njob_project_source: label\n"
        "pools: [{name: fast, partition: compute, qos: high, network_interface: hsn0, limits: {time: "
        "60}}]\n");
    must(write_file(directory / "exp.yaml", config_text() + "labels: [x, a]\n"));
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(contains(submitted(), "--partition=compute"), submitted());
    BOOST_TEST(contains(submitted(), "--qos=high --time=60 --wckey=a,x"), submitted());
    auto const spec = must(parse_spec(must(read_file(experiment(1).spec()))));
    BOOST_TEST(spec.pool == "fast");
    BOOST_TEST(join(spec.environment_variables, " ") == "DET_INTER_NODE_NETWORK_INTERFACE=hsn0");
}

BOOST_AUTO_TEST_CASE(nodes_that_are_down_are_a_warning) {
    slurm.partition_list[0].nodes[0].state = "down*";
    environment.unset("DET_SITE");
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(slurm.submissions.size() == 1u);  // a test beforehand would be refused
    BOOST_TEST(contains(err, "warning: a trial needs 2 nodes, and 0 of those that fit are up now"), err);
}

BOOST_AUTO_TEST_CASE(site_check_reports_changes_and_fails_until_they_are_made) {
    write("pools: [{name: compute, grace_time: 60}]\n");
    slurm.config = slurm::ClusterConfig({{"SLURM_VERSION", "22.05.8"},
                                         {"PreemptType", "preempt/partition_prio"},
                                         {"PlugStackConfig", (directory / "plugstack.conf").string()}});
    BOOST_TEST(run("site check") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "change: pool 'compute': GraceTime is 30 s, trials here need 60 s\n"), out);
    BOOST_TEST(contains(out, "  in slurm.conf: PartitionName=compute ... GraceTime=60\n"), out);
    BOOST_TEST(contains(out, "site.yaml: 1 thing to change\n"), out);
    slurm.partition_list[0].grace_time = std::chrono::seconds(60);
    auto const answer = ask("site check");
    BOOST_TEST(answer["ok"] == true);
    for (auto const& finding : answer["findings"]) BOOST_TEST(finding["weight"] == "note");
}

BOOST_AUTO_TEST_CASE(site_check_compares_with_a_recording_of_another_cluster) {
    write("pools: [{name: gpu, slots_per_node: 8, slot_type: rocm}]\n");
    auto const recording = (directory / "recorded.txt").string();
    must(write_file(recording,
                    "$ scontrol show partition --oneliner\n"
                    "PartitionName=gpu Default=YES PreemptMode=OFF State=UP MaxTime=UNLIMITED\n"
                    "$ uptime\nup\n"
                    "$ sinfo --noheader --format=...\ngpu|2|64|1000|idle|(null)|n[0-1]|gpu:mi250:4\n"));
    BOOST_TEST(run("site check --from " + recording) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "pool 'gpu': slots_per_node is 8, its nodes have 4 GPUs"), out);
    BOOST_TEST(slurm.calls.empty());
    must(write_file(recording, "nothing\n"));
    BOOST_TEST(run("site check --from " + recording) != 0);
    BOOST_TEST(contains(err, "has no output of 'scontrol show partition --oneliner'"), err);
}

BOOST_AUTO_TEST_CASE(site_check_follows_the_includes_of_plugstack) {
    write("");
    must(make_directories(directory / "plugstack.d"));
    must(write_file(directory / "plugstack.conf", "include plugstack.d/*.conf\n"));
    must(write_file(directory / "plugstack.d/det.conf", "required spank_det.so\n"));
    slurm.config = slurm::ClusterConfig({{"PlugStackConfig", (directory / "plugstack.conf").string()}});
    BOOST_TEST(run("site check") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(out, "would stop all jobs"), out);
    BOOST_TEST(contains(out, "'spank_det.so' can't be read here"), out);
    must(write_file(directory / "plugstack.d/det.conf", "include *.conf\n"));  // includes itself
    BOOST_TEST(run("site check") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
