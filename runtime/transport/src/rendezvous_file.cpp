#include "rendezvous_file.hpp"

#include <det/foundation/shared_directory.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>

namespace det::transport {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t rendezvous_limit_bytes = 4096;

/// A living chief sends its greeting within this time.
constexpr std::chrono::seconds greeting_limit{5};

/// Opens and closes the directory of a file that may not exist yet. An NFS client remembers for up to a
/// minute that there is no such file, and asks the server again when the directory is opened.
void refresh_directory(fs::path const& path) {
    UniqueFd const directory(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// Whether the chief of a file is alive. Such a chief replies that it has a rank 0 already. A chief replies
/// so only after it has checked a proof, for which it needs the secret of the file.
bool is_chief_alive(fs::path const& path) {
    auto const rendezvous = load_rendezvous_file(path);
    if (!rendezvous || !rendezvous->chief || !rendezvous->ranks) return false;
    auto const client =
        FrameClient::join_until(*rendezvous->chief, {rendezvous->secret, "store", *rendezvous->ranks},
                                Rank{0}, steady_clock::now() + 2s);
    return !client && client.error().code == codes::name_taken;
}

Result<FrameClient> join_chief(std::string const& file_content, Rank rank, int size, TimePoint deadline) {
    DET_TRY_ASSIGN(auto const rendezvous, parse_rendezvous_file(file_content));
    if (!rendezvous.chief) return Error{codes::transport, "the file has no address of a chief"};
    // The address of a chief that was killed may lead to a host or a program that never answers.
    return FrameClient::join(*rendezvous.chief, {rendezvous.secret, "store", size}, rank, deadline,
                             steady_clock::now() + greeting_limit);
}

}  // namespace

Result<RendezvousFile> load_rendezvous_file(fs::path const& path) {
    DET_TRY_ASSIGN(auto const text, read_file(path, rendezvous_limit_bytes));
    return parse_rendezvous_file(text);
}

Result<std::unique_ptr<PublishedAddress>> PublishedAddress::add(fs::path path, RendezvousFile rendezvous) {
    auto content = render_rendezvous_file(rendezvous);
    rendezvous.chief.reset();
    DET_TRY(write_secret_file(path, content));
    return std::unique_ptr<PublishedAddress>(
        new PublishedAddress(std::move(path), std::move(content), render_rendezvous_file(rendezvous)));
}

Result<std::unique_ptr<PublishedAddress>> PublishedAddress::create(fs::path path, RendezvousFile rendezvous) {
    auto content = render_rendezvous_file(rendezvous);
    DET_TRY_ASSIGN(bool const is_new, write_new_secret_file(path, content));
    if (!is_new) {
        if (is_chief_alive(path)) {
            return Error{codes::name_taken,
                         fmt::format("the ranks of another program use '{}'", path.string())};
        }
        DET_TRY(write_secret_file(path, content));
    }
    return std::unique_ptr<PublishedAddress>(
        new PublishedAddress(std::move(path), std::move(content), std::nullopt));
}

PublishedAddress::~PublishedAddress() {
    if (without_) {
        (void)write_secret_file(path_, *without_);
    } else if (auto const now = read_file(path_, rendezvous_limit_bytes); now && *now == content_) {
        (void)remove_tree(path_);
    }
}

Result<FrameClient> connect_to_chief(fs::path const& path, SessionKey const& key, Rank rank,
                                     TimePoint deadline) {
    for (auto pause = 1ms;; pause = std::min(pause * 2, 50ms)) {
        DET_TRY_ASSIGN(auto const rendezvous, load_rendezvous_file(path));
        Error last_error{codes::timed_out,
                         fmt::format("the chief has published no address in '{}'", path.string())};
        if (rendezvous.chief) {
            auto client = FrameClient::join(*rendezvous.chief, key, rank, deadline);
            if (client || client.error().code == codes::permission ||
                client.error().code == codes::name_taken)
                return client;
            last_error = std::move(client).error();
        }
        if (steady_clock::now() >= deadline) {
            return std::move(last_error)
                .while_doing(fmt::format("looking for the chief as rank {}", rank.value));
        }
        std::this_thread::sleep_for(pause);
    }
}

Result<FrameClient> connect_to_chief_of_new_file(fs::path const& path, Rank rank, int size,
                                                 TimePoint deadline,
                                                 std::chrono::milliseconds rejection_limit) {
    std::string rejecting;  // the content of the file whose chief rejects this rank
    TimePoint rejected_since;
    for (auto pause = 1ms;; pause = std::min(pause * 2, 200ms)) {
        refresh_directory(path);
        auto const content = read_file(path, rendezvous_limit_bytes);
        auto client =
            content ? join_chief(*content, rank, size, deadline) : Result<FrameClient>(content.error());
        if (client || client.error().code == codes::name_taken) return client;
        auto const now = steady_clock::now();
        if (!content || client.error().code != codes::permission) {
            rejecting.clear();
        } else if (*content != rejecting) {
            rejecting = *content;
            rejected_since = now;
        } else if (now - rejected_since >= rejection_limit) {
            return client;
        }
        if (now >= deadline) {
            return Error{codes::timed_out,
                         fmt::format("rank {} of {} has not found the chief by '{}' in time: {}", rank.value,
                                     size, path.string(), client.error().message)};
        }
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace det::transport
