// experiment create --host, with another program in place of ssh.
#include "experiment/create_on_host.hpp"

#include <det/experiment/remote_submission.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "create_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace create_on_host_test {

struct Fixture : CreateFixture {
    std::filesystem::path sent = directory / "sent";
    std::filesystem::path words = directory / "words";

    /// Makes a fake ssh that stores its arguments and its input, and ends with this code.
    void make_ssh(int exit_code) {
        auto const program = directory / "ssh";
        must(write_file(program,
                        "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + words.string() + "\ncat > " + sent.string() +
                            "\nexit " + std::to_string(exit_code) + "\n",
                        0700));
        environment.set("DET_SSH", program.string() + " -p 2222");
        environment.set("PATH", "/usr/bin:/bin");
    }
    std::string config() const { return (directory / "exp.yaml").string(); }
    int create_there(std::string const& options = "") {
        return run("experiment create --host login1 " + config() + " " + (directory / "code").string() +
                   options);
    }
    /// Runs what det-submit on the login node does with the input that ssh received.
    int receive(std::string const& options = "") {
        piped = must(read_file(sent));
        auto const code = run("experiment create --receive" + options);
        piped.reset();
        return code;
    }
};

}  // namespace create_on_host_test

BOOST_FIXTURE_TEST_SUITE(create_on_host_test, Fixture)

BOOST_AUTO_TEST_CASE(the_login_node_creates_the_experiment_from_what_was_sent) {
    make_ssh(0);
    BOOST_TEST(create_there(" --template mpi --config max_restarts=2 --paused") == 0, err);
    BOOST_TEST(slurm.calls.empty());
    BOOST_TEST(!path_exists(root.path()));  // nothing is left here
    BOOST_TEST(
        must(read_file(words)) ==
        "-p\n2222\n-T\n--\nlogin1\nexec bash -lc 'exec \"$0\" \"$@\"' det-submit experiment create --receive "
        "--template=mpi --config=max_restarts=2 --paused\n");
    BOOST_TEST(remote_command({"ssh"}, "login1", {"--config=name=a b's"})
                   .back()
                   .ends_with(R"( --receive '--config=name=a b'\''s')"));
    BOOST_TEST(receive(" --paused") == 0, err);
    BOOST_TEST(out == "Created experiment 1\n");
    auto const spec = must(parse_spec(must(read_file(experiment(1).spec()))));
    BOOST_REQUIRE(spec.context.has_value());
    BOOST_TEST(path_exists(root.context(spec.context->sha256)));
    BOOST_TEST(must(read_file(experiment(1).submitted())) == config_text());
    // The same code from a local directory gives an archive with the same name.
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(must(parse_spec(must(read_file(experiment(2).spec())))).context->sha256 ==
               spec.context->sha256);
}

BOOST_AUTO_TEST_CASE(errors_of_the_configuration_name_the_file_of_the_sender) {
    must(write_file(directory / "exp.yaml", "nonsense: 1\n"));
    make_ssh(0);
    BOOST_TEST(run("experiment create --host login1 " + config()) == 0, err);
    BOOST_TEST(receive() == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, config() + ":1:1: error: unknown key 'nonsense'"), err);
}

BOOST_AUTO_TEST_CASE(the_exit_code_is_that_of_the_login_node) {
    make_ssh(5);
    BOOST_TEST(create_there() == 5);
    make_ssh(255);
    BOOST_TEST(create_there() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "ssh did not reach 'login1'"), err);
    make_ssh(127);
    BOOST_TEST(create_there() == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "there is no det-submit on 'login1'"), err);
    environment.set("DET_SSH", (directory / "absent").string());
    BOOST_TEST(create_there() == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(a_program_that_reads_nothing_does_no_harm) {
    must(write_file(directory / "code/large", std::string(1 << 20, 'x')));
    auto const program = directory / "ssh";
    must(write_file(program, "#!/bin/sh\nexec <&-\nexit 3\n", 0700));
    environment.set("DET_SSH", program.string());
    BOOST_TEST(create_there() == 3);
}

BOOST_AUTO_TEST_CASE(damaged_submissions_are_refused_and_nothing_is_stored) {
    make_ssh(0);
    BOOST_TEST(create_there() == 0, err);
    auto const whole = must(read_file(sent));
    auto damaged = whole;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    for (auto const& bytes : {std::string(), std::string("{}\n"), std::string("[]\n"), whole.substr(0, 20),
                              whole.substr(0, whole.size() - 1), damaged, std::string(1 << 23, 'x')}) {
        must(write_file(sent, bytes));
        BOOST_TEST(receive() == to_int(ExitCode::could_not), bytes.substr(0, 40));
        BOOST_TEST(!path_exists(experiment(1).path()));
    }
    BOOST_TEST(run("experiment create --receive " + config()) == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(a_header_says_what_it_was_made_from) {
    RemoteSubmission const submission{"exp.yaml", "name: \"x\"\n\tzwölf\n",
                                      ContextSpec{std::string(64, 'a'), 7, true}, 99};
    auto const header = render_header(submission);
    BOOST_TEST(header.find('\n') == header.size() - 1);
    auto const parsed = must(parse_header(header));
    BOOST_TEST(parsed.config_name == submission.config_name);
    BOOST_TEST(parsed.config_text == submission.config_text);
    BOOST_TEST((parsed.code == submission.code));
    BOOST_TEST(parsed.archive_bytes == 99u);
    BOOST_TEST((must_fail(parse_header(R"({"det_submission": 2})")).code == codes::newer_format));
    for (
        auto const* wrong :
        {R"({"det_submission": 1})", R"({"det_submission": "x"})",
         R"({"det_submission": 1, "config_name": "x", "config": "", "archive_bytes": 5})",
         R"({"det_submission": 1, "config_name": "x", "config": "", "archive_bytes": 5, "code": {"sha256": "../../x", "size_bytes": 1, "has_startup_hook": false}})"})
        BOOST_TEST((must_fail(parse_header(wrong)).code == codes::damaged), wrong);
}

BOOST_AUTO_TEST_SUITE_END()
