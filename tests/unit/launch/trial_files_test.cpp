// The files of a trial that survive its runs.
#include "trial_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/pack/pack.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace trial_files_test {

namespace fs = std::filesystem;

/// A trial whose code has train.py and checkpoints/first.
struct Fixture {
    TemporaryDirectory root;
    ExperimentSpec spec;
    TrialLayout trial{root / "trial"};
    std::vector<std::string> log_lines;

    Fixture() {
        shell(
            "mkdir -p contexts code/checkpoints; echo 'print(1)' >code/train.py; echo 0 "
            ">code/checkpoints/first");
        auto const listed = must(pack::list_context({root / "code", {}}));
        auto const packed = must(must(pack::pack_tree(listed, root / "contexts")).store());
        spec.root = root.path();
        spec.context = ContextSpec{packed.sha256, 1};
    }
    void shell(std::string const& script) const {
        SystemProcessRunner runner;
        auto const output =
            must(runner.run({{"/bin/bash", "-euc", "cd '" + root.path().string() + "'\n" + script},
                             Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script << "\n" << output.err);
    }
    Result<GenerationLayout> try_run(std::uint32_t run, std::optional<std::uint32_t> may_still_run = {}) {
        must(make_directories(trial.run(run).path()));
        ResumePoint resume;
        resume.may_still_run = may_still_run;
        return prepare_trial_files(spec, trial, run, resume,
                                   [this](std::string const& line) { log_lines.push_back(line); });
    }
    GenerationLayout run(std::uint32_t number, std::optional<std::uint32_t> may_still_run = {}) {
        return must(try_run(number, may_still_run));
    }
    void be_shared() { spec.working_directory = WorkingDirectory::shared; }
};

}  // namespace trial_files_test

BOOST_FIXTURE_TEST_SUITE(trial_files_test, Fixture)

BOOST_AUTO_TEST_CASE(the_code_is_unpacked_once_and_later_runs_find_their_files) {
    be_shared();
    auto const first = run(0);
    BOOST_TEST(must(read_file(first.work() / "train.py")) == "print(1)\n");
    shell("cd trial/work; echo changed >train.py; echo 5 >state.new; mv state.new state; rm -r checkpoints");
    must(write_file(first.files() / "mine", "1"));
    auto const second = run(1);
    BOOST_TEST(second.path() == first.path());
    BOOST_TEST(must(read_file(second.work() / "train.py")) == "changed\n");
    BOOST_TEST(must(read_file(root / "trial" / "work" / "state")) == "5\n");
    BOOST_TEST(must(read_file(root / "trial/files/mine")) == "1");
    BOOST_TEST(!path_exists(second.work() / "checkpoints"));
    BOOST_TEST(log_lines.empty());
}

BOOST_AUTO_TEST_CASE(a_crash_while_the_code_is_unpacked_leaves_nothing_half_done) {
    be_shared();
    shell(
        "mkdir -p trial/generations/0/.new-work trial/generations/.new-0; touch "
        "trial/generations/0/.new-work/half");
    auto const next = run(1);
    BOOST_TEST(path_exists(next.work() / "train.py"));
    BOOST_TEST(!path_exists(next.work() / "half"));
    BOOST_TEST(!path_exists(root / "trial/generations/.new-0"));
}

BOOST_AUTO_TEST_CASE(code_that_was_changed_in_the_store_is_refused) {
    be_shared();
    shell("printf x | dd of=$(echo contexts/*.tar.zst) bs=1 seek=20 conv=notrunc status=none");
    BOOST_TEST((must_fail(try_run(0)).code == codes::damaged));
    BOOST_TEST(!path_exists(root / "trial/generations/0/work"));
}

BOOST_AUTO_TEST_CASE(persistent_directories_begin_with_the_files_of_the_code) {
    spec.persist = {"checkpoints", "out/logs"};
    auto const first = run(0);
    BOOST_TEST(must(read_file(first.persist() / "checkpoints/first")) == "0\n");
    BOOST_TEST(path_exists(first.persist() / "out/logs"));
    BOOST_TEST(!path_exists(first.persist() / "train.py"));
    shell("cd trial/persist/checkpoints; rm first; echo 1 >second");
    spec.persist.emplace_back("more");  // as a continuation may do
    auto const second = run(1);
    BOOST_TEST(!path_exists(second.persist() / "checkpoints/first"));
    BOOST_TEST(must(read_file(second.persist() / "checkpoints/second")) == "1\n");
    BOOST_TEST(path_exists(second.persist() / "more"));
}

BOOST_AUTO_TEST_CASE(a_lost_run_does_not_reach_the_files_of_the_run_after_it) {
    be_shared();
    auto const lost = run(0);
    shell(
        "cd trial/work; mkdir sub; echo 5 >sub/state; ln -s sub/state link; echo old >log; chmod 750 sub; "
        "touch -d 2020-01-01 train.py");
    // The lost run has an open file, its working directory, and the absolute path of that.
    UniqueFd const log(::open((lost.work() / "log").c_str(), O_WRONLY | O_APPEND));
    UniqueFd const directory(::open(lost.work().c_str(), O_RDONLY | O_DIRECTORY));
    auto const next = run(1, 0);
    BOOST_TEST(next.path() != lost.path());
    BOOST_TEST(log_lines.size() == 1u);
    shell(
        "test -z \"$(diff -r --no-dereference trial/work trial/generations/1/work)\"; cd trial/work; "
        "test $(cat link) = 5; test $(stat -c %a sub) = 750; test $(date -r train.py +%Y) = 2020");

    must(write_all(log.get(), "from the lost run\n", "log"));
    BOOST_TEST(::openat(directory.get(), "log", O_WRONLY | O_APPEND) < 0);
    BOOST_TEST(::openat(directory.get(), "new", O_WRONLY | O_CREAT, 0600) < 0);
    BOOST_TEST(!write_file(lost.work() / "log", "x").has_value());
    BOOST_TEST(must(read_file(next.work() / "log")) == "old\n");
    BOOST_TEST(!path_exists(next.work() / "new"));

    // What the lost run makes under its old path is removed later and never used.
    must(make_directories(lost.work()));
    BOOST_TEST(run(2, 0).path() == next.path());
    BOOST_TEST(!path_exists(lost.path()));
    BOOST_TEST(run(3, 2).path() == trial.generation(3).path());
}

BOOST_AUTO_TEST_CASE(a_superseded_run_removes_nothing) {
    be_shared();
    run(0);
    must(make_directories(trial.run(2).path()));
    BOOST_TEST((must_fail(try_run(1, 0)).code == codes::superseded));
    BOOST_TEST(path_exists(trial.generation(0).work()));
    BOOST_TEST(run(2, 1).path() == trial.generation(2).path());
    BOOST_TEST(path_exists(trial.generation(2).work() / "train.py"));
}

BOOST_AUTO_TEST_CASE(an_unused_generation_goes_and_a_later_run_makes_a_new_one) {
    auto const first = run(0);
    BOOST_TEST(path_exists(root / "trial/files"));
    remove_unused_trial_files(trial, first);
    BOOST_TEST((must(list_directory(trial.path())) == std::vector<std::string>{"runs"}));
    remove_unused_trial_files(trial, first);  // nothing is left to remove
    // The first run may still live: its files are gone, so that there is nothing to copy.
    auto const second = run(1, 0);
    BOOST_TEST(second.path() == trial.generation(1).path());
    BOOST_TEST(log_lines.empty());
    must(write_file(root / "trial/files/mine", "1"));
    remove_unused_trial_files(trial, second);
    BOOST_TEST(must(read_file(root / "trial/files/mine")) == "1");
}

BOOST_AUTO_TEST_CASE(a_run_that_was_cut_off_does_not_remove_the_generation_of_a_newer_one) {
    auto const cut_off = run(0);
    auto const newer = run(1, 0);
    remove_unused_trial_files(trial, cut_off);
    BOOST_TEST(path_exists(newer.files()));
    BOOST_TEST(fs::equivalent(root / "trial/files", newer.files()));
    // The old path may exist again, made by a process that was cut off too. The link is that of the new one.
    must(make_directories(cut_off.files()));
    remove_unused_trial_files(trial, cut_off);
    BOOST_TEST(!path_exists(cut_off.path()));
    BOOST_TEST(fs::equivalent(root / "trial/files", newer.files()));
}

BOOST_AUTO_TEST_CASE(
    a_supervisor_that_is_killed_while_it_removes_an_unused_generation_leaves_a_usable_trial) {
    std::vector<std::string> const steps{"rmdir trial/generations/0/files", "rm trial/files",
                                         "rmdir trial/generations/0", "rmdir trial/generations"};
    for (std::size_t done = 1; done <= steps.size(); ++done) {
        for (bool const may_still_run : {false, true}) {
            shell("rm -rf trial");
            run(0);
            for (std::size_t step = 0; step < done; ++step) shell(steps[step]);
            auto const next = run(1, may_still_run ? std::optional(0u) : std::nullopt);
            BOOST_TEST(path_exists(next.files()), done);
            BOOST_TEST(fs::equivalent(root / "trial/files", next.files()), done);
            BOOST_TEST((!may_still_run || next.path() == trial.generation(1).path()), done);
        }
    }
}

BOOST_AUTO_TEST_CASE(other_directories_of_a_generation_stay_when_its_files_are_unused) {
    be_shared();
    auto const first = run(0);
    remove_unused_trial_files(trial, first);
    BOOST_TEST(path_exists(trial.path() / "work" / "train.py"));
    BOOST_TEST(!path_exists(root / "trial/files"));
    auto const second = run(1);
    BOOST_TEST(second.path() == first.path());
    must(write_file(root / "trial/files/mine", "1"));
    // A directory of the user in place of the link is not removed.
    shell("rm trial/files; mkdir trial/files; rm trial/generations/0/files/mine");
    remove_unused_trial_files(trial, first);
    BOOST_TEST(fs::is_directory(root / "trial/files"));
}

BOOST_AUTO_TEST_SUITE_END()
