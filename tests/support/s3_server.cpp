#include "s3_server.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace det {
namespace {

constexpr int skipped = 77;
constexpr char program[] = "s3rver";

}  // namespace

S3Server::S3Server(std::string const& address) {
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
        ::execlp(program, program, "--directory", data_.path().c_str(), "--address", address.c_str(),
                 "--port", "0", "--configure-bucket", "det", nullptr);
        ::_exit(1);
    }
    ::close(ends[1]);
    output_ = UniqueFd(ends[0]);
    endpoint_ = "http://" + read_address();
}

S3Server::~S3Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

/// Reads the line "S3rver listening on 127.0.0.1:45933".
std::string S3Server::read_address() const {
    constexpr int limit_ms = 30'000;
    constexpr std::string_view before = "listening on ";
    std::string text;
    for (;;) {
        auto const begin = text.find(before);
        auto const end = begin == std::string::npos ? begin : text.find('\n', begin);
        if (end != std::string::npos) return text.substr(begin + before.size(), end - begin - before.size());
        pollfd query{output_.get(), POLLIN, 0};
        char bytes[256];
        BOOST_REQUIRE_MESSAGE(::poll(&query, 1, limit_ms) == 1, "s3rver prints nothing: " << text);
        auto const count = ::read(output_.get(), bytes, sizeof bytes);
        BOOST_REQUIRE_MESSAGE(count > 0, "s3rver has ended: " << text);
        text.append(bytes, static_cast<std::size_t>(count));
    }
}

}  // namespace det
