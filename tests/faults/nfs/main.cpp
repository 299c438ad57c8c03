// faults-nfs-client SERVED MOUNTED [--cache SECONDS] [--write-back SECONDS]: mounts a directory as an NFS
// client shows it that is mounted with actimeo=SECONDS. Prints "ready". Reads commands from stdin and answers
// each with a line:
//   lose nothing|repeat|error PERCENT SEED
//     loses replies of the server from now on; answers "done N", the number of replies lost so far
//   cut
//     a power cut of the host: drops what is not written to the server, and answers no request from now
//     on; answers "done FILES BYTES"
//   exit
//     unmounts; so does the end of stdin
// SERVED and MOUNTED may be the same directory. README.md says what the client guarantees.
#include <det/foundation/text.hpp>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfs_client.hpp"

namespace {

using namespace det;
using namespace det::faults;

class Program {
public:
    Program(FuseChannel channel, UniqueFd served, NfsOptions options)
        : channel_(std::move(channel)), client_(std::move(served), options) {}

    /// Returns after `exit`, at the end of stdin, and when it is unmounted.
    void run() {
        say("ready");
        constexpr int tick_ms = 100;
        while (!has_ended_) {
            std::array<pollfd, 2> polled{pollfd{STDIN_FILENO, POLLIN, 0},
                                         pollfd{is_cut_ ? -1 : channel_.fd(), POLLIN, 0}};
            ::poll(polled.data(), polled.size(), tick_ms);
            if (polled[0].revents != 0) read_commands();
            if (polled[1].revents != 0 && !is_cut_) serve();
            if (is_cut_) continue;
            for (auto const& [request, answer] : client_.tick()) channel_.answer(request, answer);
        }
        if (!is_cut_) client_.write_all_back();
    }

private:
    static void say(std::string_view text) { std::cout << text << std::endl; }

    void serve() {
        for (;;) {
            auto const request = channel_.receive();
            if (!request) has_ended_ = true;
            if (!request || !*request) return;
            auto const answer = client_.handle(**request);
            if (!answer.is_absent) channel_.answer((*request)->header().unique, answer);
        }
    }

    void read_commands() {
        std::array<char, 256> buffer;
        auto const count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (count <= 0) has_ended_ = true;
        if (count <= 0) return;
        text_.append(buffer.data(), static_cast<std::size_t>(count));
        for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            say(execute(text_.substr(0, end)));
            text_.erase(0, end + 1);
        }
    }

    std::string execute(std::string const& command) {
        auto const words = split(command, ' ');
        if (words[0] == "exit") has_ended_ = true;
        if (words[0] == "exit") return "done";
        if (words[0] == "cut") {
            is_cut_ = true;
            auto const dropped = client_.drop_dirty_data();
            return fmt::format("done {} {}", dropped.files, dropped.bytes);
        }
        if (words[0] != "lose" || words.size() != 4) return "unknown command";
        auto const percent = parse_integer<unsigned>(words[2]);
        auto const seed = parse_integer<std::uint32_t>(words[3]);
        if (!percent || !seed) return "not a number";
        client_.lost_replies().set(words[1] == "repeat"  ? LostReplies::Then::repeat
                                   : words[1] == "error" ? LostReplies::Then::error
                                                         : LostReplies::Then::nothing,
                                   *percent, *seed);
        return fmt::format("done {}", client_.lost_replies().count());
    }

    FuseChannel channel_;
    NfsClient client_;
    std::string text_;  // of stdin, without a complete line
    bool is_cut_ = false, has_ended_ = false;
};

/// The client has a descriptor of each file that it knows.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    constexpr rlim_t enough = 200'000;
    rlimit const wanted{enough, std::max(limit.rlim_max, enough)};
    if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status run(std::string const& served, std::string const& mounted, NfsOptions options) {
    unmount_dead(mounted);
    UniqueFd root(::open(served.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return os_error(fmt::format("open '{}'", served), errno);
    DET_TRY_ASSIGN(auto channel, FuseChannel::mount(mounted));
    Program(std::move(channel), std::move(root), options).run();
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    NfsOptions options;
    bool is_usage_error = argc < 3 || argc % 2 == 0;
    for (int i = 3; i + 1 < argc; i += 2) {
        std::string_view const name = argv[i];
        auto const seconds = parse_integer<unsigned>(argv[i + 1]);
        is_usage_error |= !seconds || (name != "--cache" && name != "--write-back");
        if (is_usage_error) break;
        (name == "--cache" ? options.cache : options.write_back) = std::chrono::seconds(*seconds);
    }
    if (is_usage_error) {
        std::cerr << "faults-nfs-client SERVED MOUNTED [--cache SECONDS] [--write-back SECONDS]\n";
        return 2;
    }
    // The campaign ends it by closing stdin, when its processes have ended.
    for (int const signal : {SIGINT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
    ::umask(0);
    raise_descriptor_limit();
    auto const done = run(argv[1], argv[2], options);
    if (done) return 0;
    std::cerr << "faults-nfs-client: error: " << done.error().message << '\n';
    return 1;
}
