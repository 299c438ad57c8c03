// Sharing with a group, and what a command shows of the root of another user, who may be hostile. Cases that
// give files to other users need root.
#include <det/experiment/root_directory.hpp>
#include <det/experiment/sharing.hpp>
#include <det/journal/event_log.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create_support.hpp"
#include "example_experiments.hpp"
#include "repeated_calls.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace shared_roots_test {

namespace fs = std::filesystem;

constexpr uid_t colleague = 65534, third = 50'001;  // the first one is `nobody`, who has a name

mode_t mode_of(fs::path const& path) {
    struct stat info {};
    BOOST_REQUIRE_MESSAGE(::lstat(path.c_str(), &info) == 0, path.string());
    return info.st_mode & 07777;
}

void give(fs::path const& path, uid_t owner) {
    BOOST_REQUIRE(::lchown(path.c_str(), owner, owner) == 0);
    if (!fs::is_directory(fs::symlink_status(path))) return;
    for (auto const& entry : fs::recursive_directory_iterator(path))
        BOOST_REQUIRE(::lchown(entry.path().c_str(), owner, owner) == 0);
}

/// The root of a colleague below the site's storage_root, with the example experiments.
struct Colleague : CreateFixture {
    fs::path roots = directory / "roots";
    RootLayout theirs{roots / "nobody/det"};

    Colleague() {
        write_examples(theirs);
        give(roots, colleague);
        BOOST_REQUIRE(::chown(roots.c_str(), 0, 0) == 0);
        must(write_file(directory / "site.yaml", "version: 1\npools: [{name: compute}]\nstorage_root: " +
                                                     roots.string() + "/%u/det\n"));
        environment.set("DET_SITE", (directory / "site.yaml").string());
        slurm.other_jobs.push_back(job_of(2, slurm::JobState::running, "RUNNING"));
    }
    std::string option() const { return " --root " + theirs.path().string(); }
};

boost::test_tools::assertion_result is_root_user(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(::geteuid() == 0);
    if (!result) result.message() << "only root can give files to other users";
    return result;
}

}  // namespace shared_roots_test

using namespace shared_roots_test;

BOOST_AUTO_TEST_SUITE(shared_roots_test)

BOOST_FIXTURE_TEST_CASE(new_experiments_are_shared_once_the_owner_wants_it, CreateFixture) {
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_REQUIRE_MESSAGE(run("config set sharing group") == 0, err);
    must(write_file(directory / "exp.yaml", config_text() + "data: {secrets: {token: hunter2}}\n"));
    BOOST_REQUIRE_MESSAGE(create(" --paused") == 0, err);
    BOOST_TEST(mode_of(root.path()) == 02750u);
    BOOST_TEST(mode_of(root.path() / "format") == 0640u);
    BOOST_TEST(mode_of(root.checkpoints()) == 02750u);
    BOOST_TEST(mode_of(experiment(1).path()) == 0700u);
    for (auto const& made : {experiment(2).path(), experiment(2).events(), experiment(2).trials()})
        BOOST_TEST(mode_of(made) == 02750u, made.string());
    for (auto const& file : {experiment(2).spec(), experiment(2).config(), experiment(2).script()})
        BOOST_TEST(mode_of(file) == 0640u, file.string());
    BOOST_TEST(mode_of(experiment(2).secrets()) == 0600u);
    BOOST_TEST(mode_of(experiment(2).submitted()) == 0600u);  // has the secret
    BOOST_TEST(mode_of(experiment(2).desired()) == 0640u);
    must(write_file(directory / "t.yaml", "environment: {registry_auth: {password: hunter2}}\n"));
    BOOST_REQUIRE_MESSAGE(run("template set t " + (directory / "t.yaml").string()) == 0, err);
    BOOST_TEST(mode_of(root.templates() / "t.yaml") == 0600u);
    BOOST_REQUIRE_MESSAGE(run("config set sharing private") == 0, err);
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(mode_of(experiment(3).path()) == 0700u);
    BOOST_TEST(mode_of(experiment(3).spec()) == 0600u);
    BOOST_TEST(mode_of(experiment(2).spec()) == 0640u);
    BOOST_TEST(run("config set sharing all") == to_int(ExitCode::usage));
    BOOST_TEST(run("config set shaing group") == to_int(ExitCode::usage));
}

BOOST_FIXTURE_TEST_CASE(the_site_shares_and_the_owner_may_refuse, CreateFixture) {
    must(write_file(directory / "site.yaml", "version: 1\nsharing: group\n"));
    environment.set("DET_SITE", (directory / "site.yaml").string());
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(mode_of(experiment(1).spec()) == 0640u);
    BOOST_REQUIRE_MESSAGE(run("config set sharing private") == 0, err);
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(mode_of(experiment(2).spec()) == 0600u);
    must(write_file(root.path() / "sharing", "everybody\n"));
    BOOST_TEST(create() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is neither 'private' nor 'group'"), err);
}

BOOST_FIXTURE_TEST_CASE(an_experiment_that_an_nfs_server_has_made_twice_keeps_its_number_and_is_shared,
                        CreateFixture) {
    BOOST_REQUIRE_MESSAGE(run("config set sharing group") == 0, err);
    {
        RepeatedCalls const repeated;
        BOOST_REQUIRE_MESSAGE(create() == 0, err);
    }
    BOOST_TEST(out == "Created experiment 1\n");
    BOOST_TEST(must(list_directory(root.experiments())) == (std::vector<std::string>{"1"}),
               boost::test_tools::per_element());
    for (auto const& made : {experiment(1).path(), experiment(1).events(), experiment(1).trials()})
        BOOST_TEST(mode_of(made) == 02750u, made.string());
    BOOST_TEST(mode_of(experiment(1).spec()) == 0640u);
}

BOOST_FIXTURE_TEST_CASE(a_number_that_is_taken_at_the_last_moment_is_left_to_its_experiment, CreateFixture) {
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    std::filesystem::path const taken = experiment(2).path();
    BeforeRenameTo const other(taken, [&] {
        must(make_directories(taken));
        must(write_file(taken / "spec.json", "theirs"));
    });
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(out == "Created experiment 3\n");
    BOOST_TEST(must(read_file(taken / "spec.json")) == "theirs");
    BOOST_TEST(must(parse_spec(must(read_file(experiment(3).spec())))).id.value == 3u);
    BOOST_TEST(must(list_directory(root.experiments())) == (std::vector<std::string>{"1", "2", "3"}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(sharing_again_takes_the_new_group_of_the_root, CreateFixture,
                        *boost::unit_test::precondition(is_root_user)) {
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_REQUIRE_MESSAGE(run("config set sharing group") == 0, err);
    BOOST_REQUIRE(::chown(root.path().c_str(), static_cast<uid_t>(-1), third) == 0);
    BOOST_REQUIRE_MESSAGE(run("config set sharing group") == 0, err);
    for (auto const& path : {root.experiments(), root.contexts(), root.checkpoints()}) {
        struct stat info {};
        BOOST_REQUIRE(::stat(path.c_str(), &info) == 0);
        BOOST_TEST(info.st_gid == third, path.string());
        BOOST_TEST(mode_of(path) == 02750u, path.string());
    }
}

BOOST_FIXTURE_TEST_CASE(commands_that_read_show_the_root_of_a_colleague, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    BOOST_REQUIRE_MESSAGE(run("experiment list" + option()) == 0, err);
    BOOST_TEST(contains(err, "the root '" + theirs.path().string() + "' is that of nobody"), err);
    BOOST_TEST(contains(out, "nobody"), out);
    for (std::string const command :
         {"experiment describe 1", "experiment list-trials 1", "experiment report 1", "experiment best 1",
          "experiment compare 1", "experiment list-checkpoints 1", "trial describe 1.0", "trial metrics 1.0",
          "trial logs 1.0", "model list", "experiment wait 1", "checkpoint list 1"}) {
        BOOST_TEST(run(command + option()) == 0, command << ": " << err);
        BOOST_TEST(contains(err, "is that of nobody"), command << ": " << err);
    }
    BOOST_TEST(run("experiment describe digits" + option()) >= 0);  // names are looked up there
    BOOST_TEST(run("experiment list --root " + root.path().string()) == 0, err);
    BOOST_TEST(run("experiment list --root /nowhere") == 0, err);  // as any root that does not exist yet
    for (std::string const command :
         {"job list", "resource-pool list", "task list"})  // a page asks for these
        BOOST_TEST(run(command + option()) == 0, command << ": " << err);
}

BOOST_FIXTURE_TEST_CASE(commands_that_change_refuse_the_root_of_a_colleague, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    auto const before = must(list_directory(ExperimentLayout(theirs, {1}).path()));
    for (std::string const command :
         {"experiment pause 2", "experiment kill 2", "experiment delete 1 --yes", "experiment archive 1",
          "experiment set name 1 x", "experiment label add 1 x", "experiment gc 1", "trial kill 2.0",
          "config set sharing group", "template remove x", "model create m", "experiment activate 2"}) {
        BOOST_TEST(run(command + option()) == to_int(ExitCode::could_not), command << ": " << err);
        BOOST_TEST(contains(err, "it belongs to nobody"), err);
        BOOST_TEST(contains(err, "[not-yours]"), err);
    }
    BOOST_TEST(create(option()) == to_int(ExitCode::could_not));
    BOOST_TEST(slurm.submissions.empty());
    // Without --root the owner of DET_ROOT is checked as before.
    environment.set("DET_ROOT", theirs.path().string());
    BOOST_TEST(run("experiment list") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "belongs to another user, nobody"), err);
    BOOST_TEST(contains(err, "--root"), err);
    BOOST_TEST(must(list_directory(ExperimentLayout(theirs, {1}).path())) == before);
}

BOOST_FIXTURE_TEST_CASE(all_roots_of_the_site_are_one_list, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    write_examples(root);
    BOOST_REQUIRE_MESSAGE(run("ls --all") == 0, err);
    BOOST_TEST(contains(out, theirs.path().string()), out);
    auto const rows = ask("experiment list --all");
    BOOST_TEST(rows.size() == 8u);
    BOOST_TEST(rows.at(0).at("root") == root.path().string());
    BOOST_TEST(rows.at(4).at("root") == theirs.path().string());
    BOOST_TEST(rows.at(4).at("owner") == "nobody");
    BOOST_TEST(slurm.calls.size() >= 2u);
    BOOST_TEST(ask("experiment list").size() == 4u);  // without --all: one's own
    BOOST_TEST(ask("experiment list --all --root " + root.path().string()).size() == 4u);
    // Where Slurm shows jobs to their owners only, a job that is not shown has not vanished.
    slurm.other_jobs.clear();
    auto const state = [&] { return ask("experiment list --all").at(5).at("state").get<std::string>(); };
    BOOST_TEST(state() == "INTERRUPTED");
    slurm.config = slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"PrivateData", "jobs,usage"}});
    BOOST_TEST(state() != "INTERRUPTED");
    must(write_file(directory / "site.yaml", "version: 1\nstorage_root: /nowhere/%u\n"));
    BOOST_TEST(ask("experiment list --all").size() == 4u);
    must(write_file(directory / "site.yaml", "version: 1\nstorage_root: " + roots.string() + "/%u/det\n"));
    // A root that is not that of its name, and one that others can write, are left out with a warning.
    fs::create_directories(roots / "ada/det");
    give(roots / "ada", colleague);
    BOOST_REQUIRE(::chmod(theirs.path().c_str(), 0777) == 0);
    BOOST_TEST(ask("experiment list --all").size() == 4u);
    BOOST_TEST(contains(err, "'" + (roots / "ada/det").string() + "' belongs to nobody"), err);
    BOOST_TEST(contains(err, "others than its owner can write into the root"), err);
}

BOOST_FIXTURE_TEST_CASE(what_a_colleague_has_not_written_is_not_shown, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    ExperimentLayout const first(theirs, {1});
    give(first.spec(), third);
    BOOST_REQUIRE_MESSAGE(run("experiment list" + option()) == 0, err);
    BOOST_TEST(contains(err, "belongs to user 50001, and not to the owner of the root"), err);
    BOOST_TEST(run("experiment describe 1" + option()) == to_int(ExitCode::could_not));
    fs::remove(first.spec());
    fs::create_symlink(ExperimentLayout(theirs, {3}).spec(), first.spec());
    BOOST_TEST(run("experiment describe 1" + option()) != 0);
    fs::remove(first.spec());
    BOOST_REQUIRE(::mkfifo(first.spec().c_str(), 0644) == 0);
    give(first.spec(), colleague);
    BOOST_TEST(run("experiment describe 1" + option()) != 0);  // and ends
    // A log that leads to a file of the reader, or to a pipe.
    ExperimentLayout const third_one(theirs, {3});
    auto const log = third_one.trial(0).run(0).node_log(0);
    fs::remove(log);
    must(write_file(directory / "mine", "2026-11-21T12:00:00.000000Z [rank=0] my own secret\n"));
    fs::create_symlink(directory / "mine", log);
    BOOST_TEST(run("trial logs 3.0" + option()) != 0);
    BOOST_TEST(!contains(out, "my own secret"), out);
    fs::remove(log);
    BOOST_REQUIRE(::mkfifo(log.c_str(), 0644) == 0);
    give(log, colleague);
    BOOST_TEST(run("trial logs 3.0" + option()) != 0);
}

BOOST_FIXTURE_TEST_CASE(a_packed_experiment_of_a_colleague_is_shown_and_a_damaged_one_is_refused, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    cache = directory / "cache";
    std::vector<std::string> const commands{"experiment list", "experiment describe 1", "experiment best 1",
                                            "trial describe 1.0", "trial metrics 1.0"};
    std::vector<std::string> shown;
    for (auto const& command : commands) {
        BOOST_REQUIRE_MESSAGE(run(command + option()) == 0, err);
        shown.push_back(out);
    }
    give(roots, 0);
    environment.set("DET_ROOT", theirs.path().string());
    BOOST_REQUIRE_MESSAGE(run("experiment archive --pack 1") == 0, err);
    environment.set("DET_ROOT", root.path().string());
    give(roots, colleague);
    BOOST_REQUIRE(::chown(roots.c_str(), 0, 0) == 0);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        BOOST_TEST(run(commands[i] + option()) == 0, err);
        BOOST_TEST(out == shown[i], commands[i]);
    }
    BOOST_TEST(run("experiment archive --unpack 1" + option()) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "[not-yours]"), err);
    auto const pack = theirs.experiment({1}) / "pack";
    auto const bytes = must(read_file(pack));
    must(write_file(pack, bytes.substr(0, bytes.size() / 2)));
    give(pack, colleague);
    BOOST_TEST(run("experiment describe 1" + option()) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is cut short"), err);
    BOOST_TEST(run("experiment list" + option()) == 0, err);  // the others
    BOOST_TEST(contains(err, "is cut short"), err);
    // The pack of another experiment, and a file that is the reader's.
    must(write_file(theirs.experiment({3}) / "pack", bytes));
    give(theirs.experiment({3}), colleague);
    BOOST_TEST(run("experiment describe 3" + option()) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "is that of experiment 1"), err);
    must(write_file(directory / "mine", bytes));
    fs::remove(pack);
    fs::create_symlink(directory / "mine", pack);
    give(pack, colleague);
    BOOST_TEST(run("experiment describe 1" + option()) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "and not to the owner of the root"), err);
}

BOOST_FIXTURE_TEST_CASE(a_specification_of_a_colleague_can_not_claim_a_billion_trials, Colleague,
                        *boost::unit_test::precondition(is_root_user)) {
    ExperimentLayout const first(theirs, {1});
    auto spec = must(parse_spec(must(read_file(first.spec()))));
    spec.trial_count = 1'000'000'000;
    must(write_file(first.spec(), render_spec(spec)));
    give(first.spec(), colleague);
    auto const begin = std::chrono::steady_clock::now();
    BOOST_REQUIRE_MESSAGE(run("experiment list --all") == 0, err);
    BOOST_TEST(contains(err, "claims 1000000000 trials"), err);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)));
}

BOOST_AUTO_TEST_SUITE_END()
