#include <det/collectives/node/node_group.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include "local_socket.hpp"

namespace det::collectives::node {
namespace {

using Clock = std::chrono::steady_clock;
using Joined = Result<std::unique_ptr<collectives::RankGroup>>;

/// What a rank says when it comes.
struct Hello {
    char magic[8];
    std::uint32_t version = 1;
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::uint32_t reserved = 0;
};
constexpr char hello_magic[8] = {'D', 'E', 'T', 'M', 'E', 'E', 'T', '\n'};

/// And what it is told: the memory comes along unless there is a reason.
struct Welcome {
    char refusal[256];
};

std::optional<std::string> find_refusal(Hello const& hello, Meeting const& meeting,
                                        std::vector<bool>& has_come) {
    if (!std::equal(std::begin(hello_magic), std::end(hello_magic), hello.magic) ||
        hello.version != Hello{}.version) {
        return "it is of another version of the program";
    }
    if (hello.size != meeting.size) {
        return fmt::format("it is one of {} ranks, where rank 0 is one of {}", hello.size, meeting.size);
    }
    if (hello.rank < 1 || hello.rank >= meeting.size) return fmt::format("there is no rank {}", hello.rank);
    if (has_come[static_cast<std::size_t>(hello.rank)])
        return fmt::format("there is a rank {} already", hello.rank);
    has_come[static_cast<std::size_t>(hello.rank)] = true;
    return std::nullopt;
}

Status receive_rank(int socket, Meeting const& meeting, SharedMemory const& memory,
                    std::vector<bool>& has_come, Deadline deadline) {
    Hello hello;
    DET_TRY(receive_message(socket, std::as_writable_bytes(std::span(&hello, 1)), 0, deadline));
    Welcome welcome{};
    std::vector<int> files{memory.control.get()};
    if (memory.arena) files.push_back(memory.arena.get());
    auto const refusal = find_refusal(hello, meeting, has_come);
    if (refusal) {
        refusal->copy(welcome.refusal, sizeof welcome.refusal - 1);
        files.clear();
    }
    DET_TRY(send_message(socket, std::as_bytes(std::span(&welcome, 1)), files));
    if (!refusal) return Ok{};
    return Error{codes::misuse, fmt::format("rank {} cannot join: {}", hello.rank, *refusal)};
}

Error missing(Meeting const& meeting, std::string const& who, Options const& options) {
    return {codes::timed_out,
            fmt::format("rank {} has waited {} ms for {} at '{}'", meeting.rank.value,
                        options.join_timeout.count(), who, (meeting.directory / meeting.name).string()),
            "start all ranks of the node in the same run, on the same node"};
}

Status receive_all(int listener, Meeting const& meeting, SharedMemory const& memory, Options const& options,
                   Deadline deadline) {
    std::vector<bool> has_come(static_cast<std::size_t>(meeting.size));
    for (int come = 1; come < meeting.size; ++come) {
        DET_TRY_ASSIGN(auto const socket, accept_one(listener, deadline));
        if (!socket) return missing(meeting, fmt::format("{} of the others", meeting.size - come), options);
        DET_TRY(receive_rank(socket->get(), meeting, memory, has_come, deadline));
    }
    return Ok{};
}

Joined host(Meeting const& meeting, Options options, Deadline deadline) {
    DET_TRY_ASSIGN(auto const memory, create_shared_memory(meeting.size, geometry_for(meeting.size)));
    DET_TRY_ASSIGN(auto const listener, listen_at(meeting.directory, meeting.name));
    auto const received = receive_all(listener.get(), meeting, memory, options, deadline);
    ::unlink((meeting.directory / meeting.name).c_str());
    DET_TRY(received);
    return join(memory, meeting.rank, std::move(options));
}

Joined visit(Meeting const& meeting, Options options, Deadline deadline) {
    DET_TRY_ASSIGN(auto const socket, connect_to(meeting.directory, meeting.name, deadline));
    if (!socket) return missing(meeting, "rank 0", options);
    Hello hello{.magic = {}, .rank = meeting.rank.value, .size = meeting.size};
    std::copy(std::begin(hello_magic), std::end(hello_magic), hello.magic);
    DET_TRY(send_message(socket->get(), std::as_bytes(std::span(&hello, 1)), {}));
    Welcome welcome{};
    constexpr std::size_t files_limit = 2;
    DET_TRY_ASSIGN(auto files, receive_message(socket->get(), std::as_writable_bytes(std::span(&welcome, 1)),
                                               files_limit, deadline));
    welcome.refusal[sizeof welcome.refusal - 1] = '\0';
    if (welcome.refusal[0] != '\0' || files.empty()) {
        return Error{codes::misuse,
                     fmt::format("rank {} cannot join rank 0: {}", meeting.rank.value, welcome.refusal)};
    }
    SharedMemory memory{std::move(files[0]), files.size() > 1 ? std::move(files[1]) : UniqueFd()};
    return join(memory, meeting.rank, std::move(options));
}

}  // namespace

Joined meet(Meeting const& meeting, Options options) {
    auto const deadline = Clock::now() + options.join_timeout;
    return meeting.rank.value == 0 ? host(meeting, std::move(options), deadline)
                                   : visit(meeting, std::move(options), deadline);
}

}  // namespace det::collectives::node
