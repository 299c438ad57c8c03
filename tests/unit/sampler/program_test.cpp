// Samplers that answer, fail, hang, or write too much.
#include <det/sampler/program.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::sampler;

namespace sampler_program {

struct Fixture {
    TemporaryDirectory root;
    std::string errors;

    Result<std::string> ask(std::string const& script, std::string const& request = "question\n",
                            std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
        ProgramSettings settings{{"sh", "-c", script}, Environment::of_this_process(), root.path(), timeout};
        settings.environment.set("MINE", "a b");
        auto program = must(SamplerProgram::start(settings, request));
        for (;;) {
            auto output = program.poll();
            errors = program.errors();
            if (output) return *std::move(output);
            program.wait(std::chrono::seconds(1));
        }
    }
};

}  // namespace sampler_program

BOOST_FIXTURE_TEST_SUITE(sampler_program, sampler_program::Fixture)

BOOST_AUTO_TEST_CASE(the_request_is_its_input_and_the_answer_its_output) {
    BOOST_TEST(must(ask("cat; echo $MINE; pwd; echo said >&2")) ==
               "question\na b\n" + root.path().string() + "\n");
    BOOST_TEST(errors == "said\n");
}

BOOST_AUTO_TEST_CASE(a_request_of_many_megabytes_is_read_or_not) {
    std::string const request(10'000'000, 'x');
    BOOST_TEST(must(ask("wc -c", request)).find("10000000") != std::string::npos);
    BOOST_TEST(must(ask("echo done", request)) == "done\n");
}

BOOST_AUTO_TEST_CASE(a_failure_says_how_it_ended_and_its_last_line) {
    auto const error = must_fail(ask("echo first >&2; echo 'ValueError: no' >&2; exit 3"));
    BOOST_TEST((error.code == codes::process));
    BOOST_TEST(error.message.find("has failed with exit code 3: ValueError: no") != std::string::npos);
    BOOST_TEST(errors == "first\nValueError: no\n");
    BOOST_TEST(must_fail(ask("kill -9 $$")).message.find("exit code 137") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_hangs_is_killed_with_what_it_has_started) {
    auto const error =
        must_fail(ask("sleep 600 & echo $! >child; echo partial; wait", "q", std::chrono::milliseconds(500)));
    BOOST_TEST((error.code == codes::timed_out));
    BOOST_TEST(error.message.find("has not answered within 0.5 s") != std::string::npos);
    auto const child = std::stoi(must(read_file(root / "child")));
    for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i) {
        auto const stat = read_file("/proc/" + std::to_string(child) + "/stat");
        if (!stat || stat->find(") Z ") != std::string::npos)
            return;  // a zombie: killed, and its parent has not called wait()
        ::usleep(10'000);
    }
    BOOST_TEST(::kill(child, 0) != 0);
}

BOOST_AUTO_TEST_CASE(an_endless_answer_ends_the_program) {
    auto const error = must_fail(ask("yes"));
    BOOST_TEST((error.code == codes::bad_value));
    BOOST_TEST(error.message.find("has written more than 1.0 MiB") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_the_end_of_a_long_standard_error_is_kept) {
    must_fail(ask("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1"));
    BOOST_TEST(errors.size() <= 65536u);
    BOOST_TEST(errors.ends_with("xlast\n"));
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_exist_fails) {
    ProgramSettings const settings{{"/nowhere/sampler"}, Environment::of_this_process(), root.path()};
    auto program = must(SamplerProgram::start(settings, ""));
    std::optional<Result<std::string>> output;
    while (!(output = program.poll())) program.wait(std::chrono::seconds(1));
    BOOST_TEST(must_fail(*output).message.find("/nowhere/sampler") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
