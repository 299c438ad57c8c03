#include "libslurm_client.hpp"

#include <det/slurm/make_client.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

#include "../../../runtime/slurm/libslurm/task_list.hpp"
#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_process_runner.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::slurm;
using namespace std::chrono_literals;

namespace libslurm_client {

std::string const fake_module = det::test::built_path("tests/fake_libslurm.so");

struct Fixture {
    FakeProcessRunner runner;
    FakeClock clock;
    Environment environment;

    LibslurmClient client(std::string const& behaviour,
                          LibslurmOptions::Fallback fallback = LibslurmOptions::Fallback::commands,
                          std::string const& module = fake_module) {
        environment.set("FAKE_LIBSLURM", behaviour);
        return LibslurmClient(runner, environment, clock, {module, fallback, 300ms});
    }
    Error required_error(std::string const& behaviour, std::string const& module = fake_module) {
        auto slurm = client(behaviour, LibslurmOptions::Fallback::error, module);
        return must_fail(slurm.query_queue({}));
    }
};

bool mentions(Error const& error, std::string_view words) {
    for (auto const& note : error.notes) {
        if (note.find(words) != std::string::npos) return true;
    }
    return false;
}

}  // namespace libslurm_client

BOOST_FIXTURE_TEST_SUITE(libslurm_client, Fixture)

BOOST_AUTO_TEST_CASE(jobs_are_read_by_the_module_and_changed_by_commands) {
    auto slurm = client("");
    auto const jobs = must(slurm.query_queue({.user = "me"}));
    BOOST_REQUIRE(jobs.size() == 2u);
    BOOST_TEST((jobs[0].ref == JobRef{7, {}}));
    BOOST_TEST((jobs[1].ref == JobRef{7, 4}));
    BOOST_TEST((jobs[1].state == JobState::running));
    BOOST_TEST(jobs[0].name == "new\nline");
    BOOST_TEST(jobs[0].user == "me");
    BOOST_TEST(jobs[0].nice == -3);
    BOOST_TEST(jobs[0].comment == "");
    BOOST_TEST((jobs[0].submit_time == UtcTime{1'795'262'400'000'000}));
    BOOST_TEST(!jobs[0].end_time);
    BOOST_TEST(must(slurm.query_job({12, 4})).has_value());
    BOOST_TEST(!must(slurm.query_job({12, 5})).has_value());
    BOOST_TEST(runner.calls.empty());
    runner.answer(0, "");
    must(slurm.cancel({7, 4}));
    BOOST_TEST(runner.line(0) == "scancel 7_4");
    BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, not even a zombie
}

BOOST_AUTO_TEST_CASE(an_unusable_module_is_not_tried_again) {
    for (auto const* behaviour : {"mismatch", "be old", "end", "crash"}) {
        BOOST_TEST_CONTEXT(behaviour) {
            runner.calls.clear();
            auto slurm = client(behaviour);
            for (int i = 0; i < 2; ++i) runner.answer(0, "");
            BOOST_TEST(must(slurm.query_queue({})).empty());
            BOOST_TEST(must(slurm.query_queue({})).empty());
            BOOST_TEST(runner.calls.size() == 2u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_required_unusable_module_is_an_error_with_the_reason) {
    BOOST_TEST((required_error("mismatch").code == codes::slurm_backend));
    BOOST_TEST(mentions(required_error("mismatch"), "it was built for libslurm.so.1"));
    BOOST_TEST(mentions(required_error("be old"), "another version"));
    BOOST_TEST(mentions(required_error("end"), "fatal: no configuration for you"));
    BOOST_TEST((required_error("crash").code == codes::slurm_backend));
    BOOST_TEST(mentions(required_error("", "/no/such/module.so"), "/no/such/module.so"));
    BOOST_TEST(runner.calls.empty());
}

BOOST_AUTO_TEST_CASE(silence_is_unreachable_and_repeated_only_if_short) {
    auto const start = clock.steady_now();
    BOOST_TEST((required_error("be silent").code == codes::slurm_unreachable));
    BOOST_TEST((clock.steady_now() - start > 1s));
    BOOST_TEST((required_error("hang").code == codes::slurm_unreachable));
    BOOST_TEST(mentions(required_error("refuse"), "permission denied"));
    BOOST_TEST((required_error("refuse").code == codes::slurm_refused));
    environment.set("SLURM_CONF", "/no/such/slurm.conf");
    auto const before = clock.steady_now();
    BOOST_TEST(required_error("").message.find("/no/such/slurm.conf") != std::string::npos);
    BOOST_TEST((clock.steady_now() == before));
    BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1);
}

BOOST_AUTO_TEST_CASE(the_backend_is_chosen_by_name) {
    environment.set("SLURM_CLUSTERS", "other");
    BOOST_TEST((must_fail(make_client(runner, environment, clock)).code == codes::usage));
    environment.set("SLURM_CLUSTERS", "");
    environment.set("DET_SLURM_BACKEND", "telepathy");
    BOOST_TEST((must_fail(make_client(runner, environment, clock)).code == codes::usage));
    environment.set("DET_SLURM_BACKEND", "commands");
    runner.answer(0, "");
    BOOST_TEST(must(must(make_client(runner, environment, clock))->query_queue({})).empty());
}

BOOST_AUTO_TEST_CASE(lists_of_array_tasks_are_parsed) {
    auto const tasks = [](std::string_view list) {
        std::string all;
        bool const is_list = libslurm::for_each_task(list, [&](auto i) { all += std::to_string(i) + " "; });
        return is_list ? all : "none";
    };
    BOOST_TEST(tasks("3") == "3 ");
    BOOST_TEST(tasks("0-3,7,10-14:2%4") == "0 1 2 3 7 10 12 14 ");
    BOOST_TEST(tasks("") == "");
    for (auto const* list : {"x", "3-1", "1-2:0", "0-4000001", "1,,2", "99999999999", "1-", "0-3..."})
        BOOST_TEST(tasks(list) == "none", list);
}

BOOST_AUTO_TEST_SUITE_END()
