#include <det/launch/launchers/warm_start.hpp>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "check_result.hpp"

using namespace det;
using namespace det::launch::launchers;

namespace {

Environment rank_environment(std::string const& run, int rank) {
    return Environment({{"PATH", "/run/" + run + "/bin:/usr/bin:/bin"},
                        {"DET_RUN_DIR", "/run/" + run},
                        {"DET_TRIAL_RUN_ID", run},
                        {"RANK", std::to_string(rank)},
                        {"OMP_NUM_THREADS", "1"},
                        {"EMPTY", ""}});
}

WarmProgram program_of(Environment environment) {
    return {{"/usr/bin/python3", "train.py", "--text", "two words\n"},
            std::move(environment),
            "/run/0/workdir",
            077,
            {0, 3},
            {},
            {"7:1024:-1"}};
}

/// Where the keeper of interpreters of this user would listen.
std::string keeper_name(std::string const& place) {
    return fmt::format("{}-{}-n1-keeper", place, ::geteuid());
}

/// An address in the abstract namespace.
std::pair<sockaddr_un, socklen_t> abstract_address(std::string const& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    BOOST_REQUIRE(name.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

int listen_as(std::string const& name, int backlog) {
    auto const [address, size] = abstract_address(name);
    int const socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool const listens = ::bind(socket, reinterpret_cast<sockaddr const*>(&address), size) == 0 &&
                         ::listen(socket, backlog) == 0;
    return listens ? socket : -1;
}

/// Rank 1 asks the keeper of the node n1, because no interpreter waits. Only rank 0 writes a file.
bool starts_as_usual(std::string const& place) {
    Environment const environment({{"PATH", "/usr/bin:/bin"},
                                   {"RANK", "1"},
                                   {"SLURMD_NODENAME", "n1"},
                                   {"DET_WARM_START", place + ":/nowhere"}});
    auto const end = run_warm({"/usr/bin/python3", "train.py"}, environment, [](auto const&) {});
    return end && !end->has_value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(warm_start)

BOOST_AUTO_TEST_CASE(a_name_that_another_user_has_taken_gets_no_request) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("skipped: only root can become another user");
        return;
    }
    auto const place = fmt::format("test-taken-{}", ::getpid());
    auto const name = keeper_name(place);
    int ready[2];
    BOOST_REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    UniqueFd const ready_read(ready[0]);
    UniqueFd ready_write(ready[1]);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(60);
        int const listener = ::setuid(4242) == 0 ? listen_as(name, 8) : -1;
        (void)!::write(ready_write.get(), listener < 0 ? "n" : "y", 1);
        int const theirs = listener < 0 ? -1 : ::accept(listener, nullptr, nullptr);
        char byte = 0;
        ::_exit(theirs >= 0 && ::read(theirs, &byte, 1) == 0 ? 0 : 1);
    }
    ready_write.reset();
    char answer = 0;
    BOOST_TEST(::read(ready_read.get(), &answer, 1) == 1);
    BOOST_TEST(answer == 'y');
    BOOST_TEST(starts_as_usual(place));
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);  // it was connected, and has received nothing
}

BOOST_AUTO_TEST_CASE(a_listener_that_accepts_nothing_delays_a_rank_for_a_second) {
    auto const place = fmt::format("test-full-{}", ::getpid());
    UniqueFd const listener(listen_as(keeper_name(place), 0));
    BOOST_REQUIRE(listener.get() >= 0);
    auto const [address, size] = abstract_address(keeper_name(place));
    std::vector<UniqueFd> queued;
    bool is_full = false;
    while (!is_full) {
        queued.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        is_full = ::connect(queued.back().get(), reinterpret_cast<sockaddr const*>(&address), size) != 0;
    }
    BOOST_REQUIRE(errno == EAGAIN);
    auto const begin = std::chrono::steady_clock::now();
    BOOST_TEST(starts_as_usual(place));
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)));
}

BOOST_AUTO_TEST_CASE(a_program_is_sent_as_it_would_have_been_started) {
    auto const sent = program_of(rank_environment("0", 3));
    auto const message = render_warm_program(sent);
    auto const size = static_cast<unsigned char>(message[0]) + 256u * static_cast<unsigned char>(message[1]);
    BOOST_TEST(size == message.size() - 4);
    auto const received = parse_warm_program(std::string_view(message).substr(4));
    BOOST_REQUIRE(received.has_value());
    BOOST_TEST(received->argv == sent.argv, boost::test_tools::per_element());
    BOOST_CHECK(received->environment == sent.environment);
    BOOST_TEST(received->directory == sent.directory);
    BOOST_TEST(received->umask == 077);
    BOOST_TEST(received->processors == sent.processors, boost::test_tools::per_element());
    BOOST_TEST(received->blocked.empty());
    BOOST_TEST(received->limits == sent.limits, boost::test_tools::per_element());
    for (std::size_t cut = 4; cut < message.size(); ++cut)
        BOOST_TEST(!parse_warm_program(std::string_view(message).substr(4, cut - 4)).has_value());
}

BOOST_AUTO_TEST_CASE(an_interpreter_serves_other_ranks_and_runs_but_no_other_environment) {
    auto const key = warm_key(program_of(rank_environment("0", 3)));
    BOOST_TEST(warm_key(program_of(rank_environment("1", 0))) == key);
    auto other = rank_environment("1", 0);
    other.set("OMP_NUM_THREADS", "2");
    BOOST_TEST(warm_key(program_of(other)) != key);
    auto bound = program_of(rank_environment("0", 3));
    bound.processors = {1, 2};
    BOOST_TEST(warm_key(bound) == key);
    bound.processors = {1};
    BOOST_TEST(warm_key(bound) != key);
    auto of_other_python = program_of(rank_environment("0", 3));
    of_other_python.argv.front() = "/opt/venv/bin/python3";
    BOOST_TEST(warm_key(of_other_python) != key);
}

BOOST_AUTO_TEST_CASE(only_calls_of_python_without_options_can_be_followed) {
    Environment environment;
    environment.set("PATH", "/usr/bin:/bin");
    auto unbuffered = environment;
    unbuffered.set("PYTHONUNBUFFERED", "1");
    auto const script = find_python_program({"python3", "train.py", "-x"}, environment);
    BOOST_REQUIRE(script.has_value());
    BOOST_TEST(*script == (std::vector<std::string>{"/usr/bin/python3", "train.py", "-x"}),
               boost::test_tools::per_element());
    BOOST_TEST(find_python_program({"/opt/bin/python3.11", "-m", "pack.age"}, environment).value().front() ==
               "/opt/bin/python3.11");
    BOOST_TEST(find_python_program({"python3", "-u", "train.py"}, unbuffered).value().size() == 2u);
    for (std::vector<std::string> const& other : {std::vector<std::string>{"python3"},
                                                  {"python3", "-u", "train.py"},
                                                  {"python3", "-c", "pass"},
                                                  {"python3", "-m"},
                                                  {"python3", "-"},
                                                  {"bash", "train.sh"},
                                                  {"python-config", "x"},
                                                  {"python3.99", "train.py"}})
        BOOST_TEST(!find_python_program(other, environment).has_value(), other.back());
}

BOOST_AUTO_TEST_CASE(a_place_has_a_name_and_a_directory) {
    WarmStartPlace const place{"det-warm-7_0-0-1.0", "/det/experiments/1/trials/0/warm-start"};
    BOOST_CHECK(parse_warm_start_place(to_string(place)) == place);
    for (auto const* text : {"", "name", ":/directory", "name:"})
        BOOST_TEST(!parse_warm_start_place(text).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
