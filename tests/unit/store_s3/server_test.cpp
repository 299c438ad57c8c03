// The store against s3rver. It knows who asks but calculates no signatures of version 4: those are held
// against published examples in sigv4_test. Without that program the test is skipped.
#include <det/foundation/files.hpp>
#include <det/store_s3/s3_store.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../conformance/store_suite.hpp"
#include "check_result.hpp"
#include "fake_clock.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::store_s3;

namespace {

constexpr int skipped = 77;
constexpr char program[] = "s3rver";

/// One for all cases, on a port that it chooses itself.
class Server {
public:
    Server() {
        if (::system("command -v s3rver >/dev/null 2>&1") != 0) {
            std::cout << "skipped: there is no s3rver (site-configs/loopback/install-packages --tests)\n";
            std::quick_exit(skipped);
        }
        int ends[2];
        BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(ends[1], STDOUT_FILENO);
            ::execlp(program, program, "--directory", data_.path().c_str(), "--address", "127.0.0.1",
                     "--port", "0", "--configure-bucket", "det", nullptr);
            ::_exit(1);
        }
        ::close(ends[1]);
        output_ = UniqueFd(ends[0]);
        endpoint_ = "http://" + read_address();
    }
    ~Server() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::string const& endpoint() const { return endpoint_; }

private:
    /// "S3rver listening on 127.0.0.1:45933"
    std::string read_address() const {
        constexpr int limit_ms = 30'000;
        constexpr std::string_view before = "listening on ";
        std::string text;
        for (;;) {
            auto const begin = text.find(before);
            auto const end = begin == std::string::npos ? begin : text.find('\n', begin);
            if (end != std::string::npos)
                return text.substr(begin + before.size(), end - begin - before.size());
            pollfd query{output_.get(), POLLIN, 0};
            char bytes[256];
            BOOST_REQUIRE_MESSAGE(::poll(&query, 1, limit_ms) == 1, "s3rver says nothing: " << text);
            auto const count = ::read(output_.get(), bytes, sizeof bytes);
            BOOST_REQUIRE_MESSAGE(count > 0, "s3rver has ended: " << text);
            text.append(bytes, static_cast<std::size_t>(count));
        }
    }

    TemporaryDirectory data_;
    UniqueFd output_;
    pid_t pid_ = -1;
    std::string endpoint_;
};

struct Fixture {
    static Server& server() {
        static Server one;
        return one;
    }
    TemporaryDirectory staging;
    Options options{.bucket = "det",
                    .prefix = "experiments/7",
                    .endpoint_url = server().endpoint(),
                    .credentials = {"S3RVER", "S3RVER"},
                    .staging = staging.path(),
                    .part_size_bytes = std::size_t{5} << 20};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(s3_server_test, Fixture)

BOOST_AUTO_TEST_CASE(a_bucket_is_a_store) {
    {
        auto const store = must(open_s3_store(options));
        for (auto const& test : checkpoint::store_cases()) {
            BOOST_TEST_CONTEXT(test.name) must(test.run(*store));
        }
    }
    BOOST_TEST(std::filesystem::is_empty(staging.path()));
}

BOOST_AUTO_TEST_CASE(a_stranger_is_refused_in_the_servers_words) {
    options.credentials.access_key = "stranger";
    auto const store = must(open_s3_store(options));
    auto const error = must_fail(store->list());
    BOOST_TEST((error.code == codes::transport));
    BOOST_TEST(error.message.find("InvalidAccessKeyId") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_is_tried_again_and_given_up) {
    FakeClock clock;
    int pauses = 0;
    clock.on_sleep = [&](auto) { ++pauses; };
    options.endpoint_url = "http://127.0.0.1:1";
    options.clock = &clock;
    auto const store = must(open_s3_store(options));
    BOOST_TEST((must_fail(store->list()).code == codes::transport));
    BOOST_TEST(pauses == 5);
}

BOOST_AUTO_TEST_CASE(credentials_come_from_the_environment) {
    Environment environment{{{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "s"}}};
    BOOST_TEST(must(credentials_from(environment)).secret_key == "s");
    BOOST_TEST((must_fail(credentials_from(Environment{})).code == codes::misuse));
}

BOOST_AUTO_TEST_SUITE_END()
