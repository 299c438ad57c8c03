#include "liveness.hpp"

#include <det/foundation/spawn.hpp>

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::collectives::node {
namespace {

/// Zero where it is not known. Process ids mean something only to those who have the same one.
std::uint64_t pid_namespace() {
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

class Pidfds final : public Liveness {
public:
    explicit Pidfds(Segment const& segment) : fds_(static_cast<std::size_t>(segment.ranks())) {
        auto const ours = pid_namespace();
        for (int rank = 0; rank < segment.ranks(); ++rank) {
            auto const& member = segment.member(rank);
            if (ours == 0 || member.pid_namespace != ours) continue;
            fds_[static_cast<std::size_t>(rank)] = open_pidfd(member.pid);
        }
    }

    bool has_ended(int rank) override {
        auto const& fd = fds_[static_cast<std::size_t>(rank)];
        if (!fd) return false;
        pollfd query{fd.get(), POLLIN, 0};
        return ::poll(&query, 1, 0) == 1;
    }

private:
    std::vector<UniqueFd> fds_;
};

class Nothing final : public Liveness {
public:
    bool has_ended(int) override { return false; }
};

void put(std::string_view text, std::span<char> into) {
    auto const size = std::min(text.size(), into.size() - 1);
    std::copy_n(text.data(), size, into.data());
    into[size] = '\0';
}

}  // namespace

std::unique_ptr<Liveness> watch_processes(Segment const& segment) {
    return std::make_unique<Pidfds>(segment);
}
std::unique_ptr<Liveness> watch_nothing() { return std::make_unique<Nothing>(); }

void introduce(Member& member, Options const& options) {
    char host[sizeof member.node] = "this node";
    static_cast<void>(::gethostname(host, sizeof host - 1));
    member.pid = ::getpid();
    member.pid_namespace = pid_namespace();
    if (::sched_getaffinity(0, sizeof member.cores, &member.cores) != 0) CPU_ZERO(&member.cores);
    put(options.node_name.empty() ? host : options.node_name, member.node);
}

}  // namespace det::collectives::node
