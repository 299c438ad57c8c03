#include <det/foundation/files.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

#include "../../conformance/bootstrap_suite.hpp"
#include "../../conformance/expectation.hpp"
#include "check_result.hpp"
#include "file_bootstrap.hpp"
#include "rank_threads.hpp"
#include "socket.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::transport;
using namespace std::chrono_literals;

namespace bootstrap_test {

using Open = std::function<Result<std::unique_ptr<Bootstrap>>(Rank)>;
using Body = std::function<Status(Bootstrap&)>;

/// Runs `body` on each rank in a thread. The chief's bootstrap, which has the store, is destroyed last.
std::vector<Status> run_ranks(int size, Open const& open, Body const& body) {
    std::vector<Status> results(static_cast<std::size_t>(size), Status(Ok{}));
    std::vector<std::unique_ptr<Bootstrap>> bootstraps(results.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back([&, i] {
            results[i] = [&]() -> Status {
                DET_TRY_ASSIGN(bootstraps[i], open({static_cast<int>(i)}));
                DET_TRY(body(*bootstraps[i]));
                if (i != 0) bootstraps[i].reset();
                return Ok{};
            }();
        });
    }
    for (auto& thread : threads) thread.join();
    return results;
}

void run_suite(int size, Open const& open) {
    check_ranks(run_ranks(size, open, [](Bootstrap& bootstrap) -> Status {
        for (auto const& test : bootstrap_cases()) {
            if (auto result = test.run(bootstrap); !result) {
                return std::move(result).error().while_doing(std::string(test.name));
            }
        }
        return Ok{};
    }));
}

struct Meet : TemporaryDirectory {
    Meet() { must(write_file(file, render_rendezvous_file({"a secret"}))); }

    Open tcp(int size, std::chrono::milliseconds timeout = 20s) const {
        return [this, size, timeout](Rank rank) {
            return open_tcp_bootstrap(rank, size, file, {.waits = {timeout}});
        };
    }
    Open files(int size, std::chrono::milliseconds timeout = 20s) const {
        return [this, size, timeout](Rank rank) {
            return open_file_bootstrap(rank, size, path() / "files", {timeout});
        };
    }
    /// Opens a bootstrap for which the chief makes the file, with a new secret.
    Open new_secret(int size, std::chrono::milliseconds timeout = 20s,
                    std::chrono::milliseconds rejection_limit = 20s) const {
        return [=, this](Rank rank) {
            return open_tcp_bootstrap_with_new_secret(
                rank, size, new_file, {.waits = {timeout}, .rejection_limit = rejection_limit});
        };
    }
    /// Blocks until the chief has made the new file.
    void await_new_file() const {
        auto const until = std::chrono::steady_clock::now() + 20s;
        while (!path_exists(new_file) && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(1ms);
        BOOST_REQUIRE(path_exists(new_file));
    }
    Endpoint chief() const { return *must(parse_rendezvous_file(must(read_file(file)))).chief; }

    std::filesystem::path const file = path() / "rendezvous";
    std::filesystem::path const new_file = path() / "new";
};

UniqueFd call(Endpoint const& endpoint) {
    return must(connect_to(endpoint, std::chrono::steady_clock::now() + 5s));
}

/// Whether the other side closes the connection within its time limit.
bool is_hung_up(UniqueFd const& connection) {
    auto const until = std::chrono::steady_clock::now() + 15s;
    for (;;) {
        auto const received = receive_exactly(connection, 1, until);
        if (!received) return received.error().code == codes::transport;
    }
}

}  // namespace bootstrap_test

BOOST_FIXTURE_TEST_SUITE(bootstrap_test, Meet)

BOOST_AUTO_TEST_CASE(file_bootstrap_conforms_to_the_interface) {
    for (int const size : {1, 2, 4}) {
        Meet meet;
        run_suite(size, meet.files(size));
    }
}

BOOST_AUTO_TEST_CASE(tcp_bootstrap_conforms_to_the_interface) {
    for (int const size : {1, 2, 4, 16}) {
        Meet meet;
        run_suite(size, meet.tcp(size));
    }
}

BOOST_AUTO_TEST_CASE(get_waits_for_a_value_that_is_put_later) {
    for (auto const& open : {files(4), tcp(4)}) {
        check_ranks(run_ranks(4, open, [](Bootstrap& bootstrap) -> Status {
            // Each rank puts its sum when it has the sum of the rank before.
            int sum = bootstrap.rank().value;
            if (sum > 0) {
                DET_TRY_ASSIGN(auto const before, bootstrap.get({sum - 1}, "sum"));
                sum += std::stoi(before);
            }
            DET_TRY(bootstrap.put("sum", std::to_string(sum)));
            DET_TRY_ASSIGN(auto const last, bootstrap.get({3}, "sum"));
            return expect(last == "6", "the sum of all ranks");
        }));
    }
}

BOOST_AUTO_TEST_CASE(a_chief_can_open_the_same_rendezvous_again) {
    for (int i = 0; i < 3; ++i) run_suite(2, tcp(2));
    BOOST_TEST(!must(parse_rendezvous_file(must(read_file(file)))).chief.has_value());
}

BOOST_AUTO_TEST_CASE(only_the_owner_can_read_the_rendezvous_file) {
    auto const store = must(tcp(1)(Rank{0}));
    struct stat info {};
    BOOST_REQUIRE(::stat(file.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 077) == 0u);
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_value_that_is_never_put_ends_at_its_time_limit) {
    for (auto const& open : {files(2, 100ms), tcp(2, 300ms)}) {
        auto const bootstrap = must(open(Rank{0}));
        auto const error = must_fail(bootstrap->get({1}, "never"));
        BOOST_TEST((error.code == codes::timed_out), error.message);
    }
}

BOOST_AUTO_TEST_CASE(a_late_reply_is_not_the_answer_to_the_next_request) {
    auto const chief = must(tcp(2)(Rank{0}));
    auto const other = must(tcp(2, 300ms)(Rank{1}));
    must(chief->put("second", "value of second"));
    BOOST_TEST((must_fail(other->get({0}, "first")).code == codes::timed_out));
    must(chief->put("first", "value of first"));
    auto const next = other->get({0}, "second");
    BOOST_TEST((!next || *next == "value of second"), next.value_or(""));
}

BOOST_AUTO_TEST_CASE(a_missing_chief_is_an_error_at_the_time_limit) {
    auto const error = must_fail(tcp(2, 100ms)(Rank{1}));
    BOOST_TEST((error.code == codes::timed_out), error.message);
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_rank_that_has_left_fails_at_once) {
    auto const results = run_ranks(3, tcp(3), [](Bootstrap& bootstrap) -> Status {
        DET_TRY(bootstrap.fence());
        if (bootstrap.rank().value == 2) return Ok{};  // its bootstrap is destroyed
        DET_TRY(bootstrap.get({2}, "never"));
        return Ok{};
    });
    for (std::size_t const rank : {0u, 1u}) {
        BOOST_REQUIRE(!results[rank].has_value());
        BOOST_TEST(results[rank].error().message == "rank 2 has left");
    }
    BOOST_TEST(results[2].has_value());
}

BOOST_AUTO_TEST_CASE(a_rank_with_another_secret_is_rejected) {
    auto const store = must(tcp(2)(Rank{0}));
    auto const theirs = path() / "theirs";
    must(write_file(theirs, render_rendezvous_file({"another secret", chief()})));
    auto const error = must_fail(open_tcp_bootstrap({1}, 2, theirs, {.waits = {20s}}));
    BOOST_TEST((error.code == codes::permission), error.message);
}

BOOST_AUTO_TEST_CASE(a_rank_with_another_size_or_a_connected_number_is_rejected) {
    auto const store = must(tcp(3)(Rank{0}));
    auto const first = must(tcp(3)(Rank{1}));
    BOOST_TEST((must_fail(tcp(4)(Rank{2})).code == codes::permission));
    BOOST_TEST(must_fail(tcp(3)(Rank{1})).message == "there is a rank 1 already");
}

BOOST_AUTO_TEST_CASE(bootstrap_with_a_new_secret_conforms_to_the_interface_and_leaves_no_file) {
    for (int const size : {1, 2, 4, 16}) {
        Meet meet;
        for (int i = 0; i < 3; ++i) run_suite(size, meet.new_secret(size));  // under one name
        BOOST_TEST(must(list_directory(meet.path())) == std::vector<std::string>{"rendezvous"},
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_a_killed_program_has_left_is_replaced) {
    auto const other = must(tcp(1)(Rank{0}));  // a program with another secret has the port now
    for (auto const& left : {render_rendezvous_file({"an old secret"}),
                             render_rendezvous_file({"an old secret", Endpoint{"127.0.0.1", 1}}),
                             render_rendezvous_file({"an old secret", chief()}), std::string("{")}) {
        BOOST_TEST_CONTEXT(left) {
            must(write_file(new_file, left));
            check_ranks(run_ranks(3, new_secret(3), [](Bootstrap& bootstrap) { return bootstrap.fence(); }));
            BOOST_TEST(!path_exists(new_file));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_read_an_old_file_finds_the_new_chief) {
    auto const listener = must(listen_at("127.0.0.1"));
    Endpoint const old_chief{"127.0.0.1", must(port_of(listener))};
    must(write_file(new_file, render_rendezvous_file({"an old secret", old_chief})));
    check_ranks(run_ranks(
        2,
        [&](Rank rank) -> Result<std::unique_ptr<Bootstrap>> {
            if (rank.value == 0) {  // begins when rank 1 has read the old file
                pollfd entry{listener.get(), POLLIN, 0};
                if (::poll(&entry, 1, 20'000) != 1) return Error{codes::timed_out, "rank 1 does not connect"};
                UniqueFd const connection(::accept(listener.get(), nullptr, nullptr));
            }
            return new_secret(2)(rank);
        },
        [](Bootstrap& bootstrap) { return bootstrap.fence(); }));
}

BOOST_AUTO_TEST_CASE(a_second_program_with_the_same_file_gets_an_error) {
    std::unique_ptr<Bootstrap> chief;
    std::jthread first([&] {
        if (auto opened = new_secret(2)(Rank{0})) chief = *std::move(opened);
    });
    await_new_file();
    auto const error = must_fail(new_secret(2)(Rank{0}));
    auto const other = new_secret(2)(Rank{1});  // the first program is not disturbed
    first.join();
    BOOST_TEST((error.code == codes::name_taken), error.message);
    BOOST_TEST(error.message.find(new_file.string()) != std::string::npos, error.message);
    BOOST_TEST(other.has_value());
    BOOST_TEST(chief != nullptr);
}

BOOST_AUTO_TEST_CASE(a_program_with_another_number_of_ranks_does_not_replace_the_file) {
    std::unique_ptr<Bootstrap> chief;
    std::jthread first([&] {
        if (auto opened = new_secret(2)(Rank{0})) chief = *std::move(opened);
    });
    await_new_file();
    auto const error = must_fail(new_secret(3, 1s)(Rank{0}));
    auto const other = new_secret(2)(Rank{1});
    first.join();
    BOOST_TEST((error.code == codes::name_taken), error.message);
    BOOST_TEST(other.has_value());
    BOOST_TEST(chief != nullptr);
}

BOOST_AUTO_TEST_CASE(a_rank_with_another_size_than_the_new_chief_is_rejected) {
    std::jthread first([&] { (void)new_secret(2)(Rank{0}); });
    await_new_file();
    auto const error = must_fail(new_secret(3, 20s, 200ms)(Rank{1}));
    auto const other = new_secret(2)(Rank{1});
    first.join();
    BOOST_TEST((error.code == codes::permission), error.message);
}

BOOST_AUTO_TEST_CASE(an_error_of_ranks_that_see_different_directories_names_the_file) {
    for (int const rank : {0, 1}) {
        auto const error = must_fail(new_secret(2, 300ms)(Rank{rank}));
        BOOST_TEST((error.code == codes::timed_out), error.message);
        BOOST_TEST(error.message.find(new_file.string()) != std::string::npos, error.message);
    }
}

BOOST_AUTO_TEST_CASE(invalid_connections_do_not_disturb_the_ranks) {
    auto const store = must(tcp(2)(Rank{0}));
    auto const soon = std::chrono::steady_clock::now() + 5s;
    std::vector<UniqueFd> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(call(chief()));  // these connections stay silent
    for (int i = 0; i < 50; ++i) call(chief());                    // these are closed at once
    auto const web = call(chief());
    must(send_all(web, "GET / HTTP/1.1\r\nHost: here\r\n\r\n" + std::string(200, 'x'), soon));
    auto const flood = call(chief());
    (void)send_all(flood, std::string(std::size_t{4} << 20, '\xff'), soon);
    BOOST_TEST(is_hung_up(web));
    BOOST_TEST(is_hung_up(flood));

    auto const other = must(tcp(2)(Rank{1}));
    must(other->put("key", "value"));
    BOOST_TEST(must(store->get({1}, "key")) == "value");
}

BOOST_AUTO_TEST_CASE(too_many_unauthenticated_connections_only_delay_the_ranks) {
    auto const store = must(tcp(2)(Rank{0}));
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 100; ++i) strangers.push_back(call(chief()));
    auto const other = must(tcp(2)(Rank{1}));
    must(other->put("key", "value"));
    BOOST_TEST(must(store->get({1}, "key")) == "value");
}

BOOST_AUTO_TEST_SUITE_END()
