// The ranks of a node find each other and map the same memory.
#include <det/foundation/unix_socket.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "group.hpp"

namespace det::collectives::node {
namespace {

using Clock = std::chrono::steady_clock;
using Joined = Result<std::unique_ptr<collectives::RankGroup>>;

/// Writes this process, its node and its cores into `member`. Does not mark the member as present.
void introduce(Member& member, Options const& options) {
    char host[sizeof member.node] = "this node";
    static_cast<void>(::gethostname(host, sizeof host - 1));
    member.pid = ::getpid();
    member.pid_namespace = liveness::own_pid_namespace();
    if (::sched_getaffinity(0, sizeof member.cores, &member.cores) != 0) CPU_ZERO(&member.cores);
    copy_text(options.node_name.empty() ? host : options.node_name, member.node);
}

/// Claims the rank. Fails if another process has already claimed it.
Status claim_rank(Member& member, int rank, Options const& options) {
    auto absent = Presence::absent;
    if (!member.presence.compare_exchange_strong(absent, Presence::arriving, std::memory_order_acq_rel)) {
        return Error{codes::misuse, fmt::format("two processes join as rank {}", rank)};
    }
    introduce(member, options);
    member.presence.store(Presence::present, std::memory_order_release);
    return Ok{};
}

bool is_present(ControlMemory const& control, int rank) {
    return control.member(rank).presence.load(std::memory_order_acquire) >= Presence::present;
}

Status wait_for_all(ControlMemory const& control, int rank, std::chrono::milliseconds timeout) {
    auto const limit = Clock::now() + timeout;
    liveness::Backoff backoff(liveness::Cores::shared);
    for (int other = 0; other < control.ranks();) {
        if (is_present(control, other)) {
            ++other;
        } else if (Clock::now() > limit) {
            return Error{codes::timed_out, fmt::format("rank {} has waited {} ms for rank {} to join it",
                                                       rank, timeout.count(), other)};
        } else {
            backoff.pause();
        }
    }
    return Ok{};
}

/// The message that a rank sends to rank 0.
struct JoinRequest {
    char magic[8];
    std::uint32_t version = 1;
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::uint32_t reserved = 0;
};
constexpr char join_magic[8] = {'D', 'E', 'T', 'M', 'E', 'E', 'T', '\n'};

/// The reply of rank 0. The descriptors of the shared memory are attached to it, unless it holds a refusal.
struct JoinReply {
    char refusal[256];
};

std::optional<std::string> find_refusal(JoinRequest const& request, Rendezvous const& rendezvous,
                                        std::vector<bool>& has_joined) {
    if (!std::equal(std::begin(join_magic), std::end(join_magic), request.magic) ||
        request.version != JoinRequest{}.version) {
        return "it is of another version of the program";
    }
    if (request.size != rendezvous.size) {
        return fmt::format("it is one of {} ranks, where rank 0 is one of {}", request.size, rendezvous.size);
    }
    if (request.rank < 1 || request.rank >= rendezvous.size)
        return fmt::format("there is no rank {}", request.rank);
    if (has_joined[static_cast<std::size_t>(request.rank)])
        return fmt::format("there is a rank {} already", request.rank);
    has_joined[static_cast<std::size_t>(request.rank)] = true;
    return std::nullopt;
}

Status admit_rank(int socket, Rendezvous const& rendezvous, SharedMemory const& memory,
                  std::vector<bool>& has_joined, unix_socket::Deadline deadline) {
    JoinRequest request;
    DET_TRY(
        unix_socket::receive_message(socket, std::as_writable_bytes(std::span(&request, 1)), 0, deadline));
    JoinReply reply{};
    std::vector<int> files{memory.control.get()};
    if (memory.arena) files.push_back(memory.arena.get());
    auto const refusal = find_refusal(request, rendezvous, has_joined);
    if (refusal) {
        refusal->copy(reply.refusal, sizeof reply.refusal - 1);
        files.clear();
    }
    DET_TRY(unix_socket::send_message(socket, std::as_bytes(std::span(&reply, 1)), files));
    if (!refusal) return Ok{};
    return Error{codes::misuse, fmt::format("rank {} cannot join: {}", request.rank, *refusal)};
}

Error timed_out_waiting(Rendezvous const& rendezvous, std::string const& missing, Options const& options) {
    return {
        codes::timed_out,
        fmt::format("rank {} has waited {} ms for {} at '{}'", rendezvous.rank.value,
                    options.join_timeout.count(), missing, (rendezvous.directory / rendezvous.name).string()),
        "start all ranks of the node in the same run, on the same node"};
}

Status admit_all(int listener, Rendezvous const& rendezvous, SharedMemory const& memory,
                 Options const& options, unix_socket::Deadline deadline) {
    std::vector<bool> has_joined(static_cast<std::size_t>(rendezvous.size));
    for (int joined = 1; joined < rendezvous.size; ++joined) {
        DET_TRY_ASSIGN(auto const socket, unix_socket::accept_one(listener, deadline));
        if (!socket)
            return timed_out_waiting(rendezvous, fmt::format("{} of the others", rendezvous.size - joined),
                                     options);
        DET_TRY(admit_rank(socket->get(), rendezvous, memory, has_joined, deadline));
    }
    return Ok{};
}

Joined host_ranks(Rendezvous const& rendezvous, Options options, unix_socket::Deadline deadline) {
    DET_TRY_ASSIGN(auto const memory, create_shared_memory(rendezvous.size, geometry_for(rendezvous.size)));
    DET_TRY_ASSIGN(auto const listener, unix_socket::listen_at(rendezvous.directory, rendezvous.name));
    auto const received = admit_all(listener.get(), rendezvous, memory, options, deadline);
    ::unlink((rendezvous.directory / rendezvous.name).c_str());
    DET_TRY(received);
    return map_and_join(memory, rendezvous.rank, std::move(options));
}

Joined join_host(Rendezvous const& rendezvous, Options options, unix_socket::Deadline deadline) {
    DET_TRY_ASSIGN(auto const socket,
                   unix_socket::connect_to(rendezvous.directory, rendezvous.name, deadline));
    if (!socket) return timed_out_waiting(rendezvous, "rank 0", options);
    JoinRequest request{.magic = {}, .rank = rendezvous.rank.value, .size = rendezvous.size};
    std::copy(std::begin(join_magic), std::end(join_magic), request.magic);
    DET_TRY(unix_socket::send_message(socket->get(), std::as_bytes(std::span(&request, 1)), {}));
    JoinReply reply{};
    constexpr std::size_t files_limit = 2;
    DET_TRY_ASSIGN(auto files,
                   unix_socket::receive_message(socket->get(), std::as_writable_bytes(std::span(&reply, 1)),
                                                files_limit, deadline));
    reply.refusal[sizeof reply.refusal - 1] = '\0';
    if (reply.refusal[0] != '\0' || files.empty()) {
        return Error{codes::misuse,
                     fmt::format("rank {} cannot join rank 0: {}", rendezvous.rank.value, reply.refusal)};
    }
    SharedMemory memory{std::move(files[0]), files.size() > 1 ? std::move(files[1]) : UniqueFd()};
    return map_and_join(memory, rendezvous.rank, std::move(options));
}

}  // namespace

Result<SharedMemory> create_shared_memory(int ranks, Geometry const& geometry) {
    if (ranks < 1) return Error{codes::misuse, fmt::format("{} ranks cannot share memory", ranks)};
    DET_TRY_ASSIGN(auto control, ControlMemory::create(ranks, geometry));
    // If the arena cannot be created, collectives copy their data.
    auto arena = Arena::create(ranks);
    return SharedMemory{std::move(control), arena ? *std::move(arena) : UniqueFd()};
}

Result<std::unique_ptr<collectives::RankGroup>> map_and_join(SharedMemory const& memory, Rank rank,
                                                             Options options) {
    DET_TRY_ASSIGN(auto control, ControlMemory::map(memory.control.get()));
    int const ranks = control.ranks();
    if (rank.value < 0 || rank.value >= ranks) {
        return Error{codes::misuse, fmt::format("rank {} cannot join {} ranks", rank.value, ranks)};
    }
    std::optional<Arena> arena;
    if (memory.arena) {
        if (auto mapped = Arena::map(memory.arena.get(), ranks, rank.value))
            arena.emplace(*std::move(mapped));
    }
    if (ranks == 1) return collectives::make_single_rank();
    DET_TRY(claim_rank(control.member(rank.value), rank.value, options));
    DET_TRY(wait_for_all(control, rank.value, options.join_timeout));
    return std::unique_ptr<collectives::RankGroup>(std::make_unique<NodeGroup>(
        RankSlot{std::move(control), std::move(arena), rank.value, ranks}, std::move(options)));
}

Joined join_at(Rendezvous const& rendezvous, Options options) {
    auto const deadline = Clock::now() + options.join_timeout;
    return rendezvous.rank.value == 0 ? host_ranks(rendezvous, std::move(options), deadline)
                                      : join_host(rendezvous, std::move(options), deadline);
}

}  // namespace det::collectives::node
