#include <det/foundation/uuid.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "frames.hpp"
#include "rendezvous_file.hpp"

namespace det::transport {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// The requests of a TcpBootstrap to its store, and the replies. A client waits for the reply before it sends
// the next request.

enum class StoreVerb : char { put = 'P', get = 'G', gather = 'A' };
enum class StoreReply : char { done = 'D', failed = 'F' };

/// Limit of the total size of the keys and values from put() of all ranks: enough for half a million worker
/// addresses of 512 bytes. The store disconnects a client whose put exceeds it.
constexpr std::size_t stored_limit_bytes = std::size_t{256} << 20;

std::string begin(StoreVerb verb) { return {static_cast<char>(verb)}; }

std::string reply(StoreReply kind, std::string_view text = {}) {
    return static_cast<char>(kind) + std::string(text);
}

std::string has_left(int rank) { return reply(StoreReply::failed, fmt::format("rank {} has left", rank)); }

/// Keeps the values that ranks put, and answers their requests. A request that waits for a rank fails when
/// that rank leaves.
class Store final : public FrameHandler {
public:
    /// The largest frame that a client may send.
    static constexpr std::size_t frame_limit_bytes = std::size_t{66} << 10;

    explicit Store(int size) : size_(size) {}
    bool on_frame(Rank from, std::string_view frame, Post const& post) override;
    void on_left(Rank rank, Post const& post) override;

private:
    using Key = std::pair<int, std::string>;

    bool on_put(Rank from, std::string_view request, Post const& post);
    bool on_get(Rank from, std::string_view request, Post const& post);
    bool on_gather(Rank from, std::string_view request, Post const& post);
    void finish_gather(Post const& post);
    void fail_gather(Post const& post);

    int size_;
    std::map<Key, std::string> values_;
    std::size_t stored_bytes_ = 0;
    std::map<Key, std::vector<Rank>> awaited_;
    std::map<int, std::string> gathered_;  // by rank: the values of the current gather
    std::set<int> left_;
};

bool Store::on_frame(Rank from, std::string_view frame, Post const& post) {
    if (frame.empty()) return false;
    auto const request = frame.substr(1);
    switch (static_cast<StoreVerb>(frame.front())) {
        case StoreVerb::put:
            return on_put(from, request, post);
        case StoreVerb::get:
            return on_get(from, request, post);
        case StoreVerb::gather:
            return on_gather(from, request, post);
    }
    return false;
}

bool Store::on_put(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const key = reader.text();
    auto const value = key ? reader.text() : std::nullopt;
    if (!value) return false;
    stored_bytes_ += key->size() + value->size();
    if (stored_bytes_ > stored_limit_bytes) return false;
    Key const full_key{from.value, *key};
    if (!values_.try_emplace(full_key, *value).second) {
        post(from, reply(StoreReply::failed, fmt::format("rank {} puts '{}' twice", from.value, *key)));
        return true;
    }
    if (auto const waiting = awaited_.find(full_key); waiting != awaited_.end()) {
        for (auto const rank : waiting->second) post(rank, reply(StoreReply::done, *value));
        awaited_.erase(waiting);
    }
    post(from, reply(StoreReply::done));
    return true;
}

bool Store::on_get(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const owner = reader.value<std::int32_t>();
    auto const key = owner ? reader.text() : std::nullopt;
    if (!key || *owner < 0 || *owner >= size_) return false;
    Key const full_key{*owner, *key};
    if (auto const value = values_.find(full_key); value != values_.end()) {
        post(from, reply(StoreReply::done, value->second));
    } else if (left_.contains(*owner)) {
        post(from, has_left(*owner));
    } else {
        awaited_[full_key].push_back(from);
    }
    return true;
}

bool Store::on_gather(Rank from, std::string_view request, Post const& post) {
    FrameReader reader(request);
    auto const value = reader.text();
    if (!value || !gathered_.try_emplace(from.value, *value).second) return false;
    if (!left_.empty()) {
        fail_gather(post);
    } else if (gathered_.size() == static_cast<std::size_t>(size_)) {
        finish_gather(post);
    }
    return true;
}

void Store::finish_gather(Post const& post) {
    std::string all;
    for (auto const& [rank, value] : gathered_) append_text(all, value);
    for (auto const& [rank, value] : gathered_) post({rank}, reply(StoreReply::done, all));
    gathered_.clear();
}

void Store::fail_gather(Post const& post) {
    for (auto const& [rank, value] : gathered_) post({rank}, has_left(*left_.begin()));
    gathered_.clear();
}

void Store::on_left(Rank rank, Post const& post) {
    left_.insert(rank.value);
    gathered_.erase(rank.value);
    fail_gather(post);
    for (auto i = awaited_.begin(); i != awaited_.end();) {
        auto& [full_key, waiting] = *i;
        std::erase(waiting, rank);
        if (full_key.first == rank.value) {
            for (auto const other : waiting) post(other, has_left(rank.value));
            waiting.clear();
        }
        i = waiting.empty() ? awaited_.erase(i) : std::next(i);
    }
}

std::optional<std::vector<std::string>> parse_gathered(std::string_view text, int count) {
    FrameReader reader(text);
    std::vector<std::string> values;
    for (int i = 0; i < count; ++i) {
        auto const value = reader.text();
        if (!value) return std::nullopt;
        values.emplace_back(*value);
    }
    return values;
}

/// The store in the chief's process, and its address in the rendezvous file. Other ranks have neither.
struct OpenStore {
    std::unique_ptr<FrameServer> server;
    std::unique_ptr<PublishedAddress> published;
};

Result<std::unique_ptr<FrameServer>> start_store(std::string const& address, SessionKey const& key) {
    return FrameServer::start(address, key, Store::frame_limit_bytes, std::make_unique<Store>(key.size));
}

class TcpBootstrap final : public Bootstrap {
public:
    TcpBootstrap(Rank rank, int size, OpenStore store, FrameClient client, BootstrapOptions options)
        : Bootstrap(rank, size), store_(std::move(store)), client_(std::move(client)), options_(options) {}

    /// Ends the chief's PublishedAddress before the destructor does. Does nothing on other ranks.
    void withdraw_address() { store_.published.reset(); }

private:
    Result<std::string> request_from_store(std::string_view request, std::size_t reply_limit_bytes,
                                           std::string const& what);
    Result<std::string> exchange(std::string_view request, std::size_t reply_limit_bytes);
    Status do_put(std::string const& key, std::string const& value) override;
    Result<std::string> do_get(Rank from, std::string const& key) override;
    Result<std::vector<std::string>> do_allgather(std::string const& value) override;

    OpenStore store_;
    FrameClient client_;
    BootstrapOptions options_;
    std::optional<Error> failure_;  // of an earlier request, whose reply may still come
};

constexpr std::size_t text_limit_bytes = Bootstrap::value_limit_bytes + 64;

Result<std::string> TcpBootstrap::request_from_store(std::string_view request, std::size_t reply_limit_bytes,
                                                     std::string const& what) {
    if (failure_) return Error(*failure_).while_doing(what);
    auto reply = exchange(request, reply_limit_bytes);
    if (!reply) {
        failure_ = reply.error();
        return std::move(reply).error().while_doing(what);
    }
    if (!reply->empty() && reply->front() == static_cast<char>(StoreReply::done)) return reply->substr(1);
    return Error{codes::transport, reply->empty() ? "the chief sent an empty reply" : reply->substr(1)}
        .while_doing(what);
}

Result<std::string> TcpBootstrap::exchange(std::string_view request, std::size_t reply_limit_bytes) {
    auto const deadline = steady_clock::now() + options_.timeout;
    DET_TRY(client_.send(request, deadline));
    return client_.receive(reply_limit_bytes, deadline);
}

Status TcpBootstrap::do_put(std::string const& key, std::string const& value) {
    auto request = begin(StoreVerb::put);
    append_text(request, key);
    append_text(request, value);
    DET_TRY(request_from_store(request, text_limit_bytes, fmt::format("sending '{}' to the chief", key)));
    return Ok{};
}

Result<std::string> TcpBootstrap::do_get(Rank from, std::string const& key) {
    auto request = begin(StoreVerb::get);
    append_value(request, std::int32_t{from.value});
    append_text(request, key);
    return request_from_store(request, text_limit_bytes,
                              fmt::format("requesting '{}' of rank {} from the chief", key, from.value));
}

Result<std::vector<std::string>> TcpBootstrap::do_allgather(std::string const& value) {
    auto request = begin(StoreVerb::gather);
    append_text(request, value);
    auto const limit = static_cast<std::size_t>(size()) * text_limit_bytes;
    DET_TRY_ASSIGN(auto const text, request_from_store(request, limit, "waiting for all ranks"));
    auto values = parse_gathered(text, size());
    if (values) return *std::move(values);
    return Error{codes::transport, "the reply of the chief lacks values of ranks"};
}

struct Connected {
    OpenStore store;
    FrameClient client;
};

Result<Connected> start_store_with_new_secret(int size, fs::path path, std::string const& address,
                                              TimePoint deadline) {
    RendezvousFile rendezvous{make_uuid() + make_uuid()};
    SessionKey const key{rendezvous.secret, "store", size};
    OpenStore store;
    DET_TRY_ASSIGN(store.server, start_store(address, key));
    rendezvous.chief = store.server->endpoint();
    rendezvous.ranks = size;
    // The chief is in its store before others can read the address, so that the chief of another program
    // with the same file finds its rank taken.
    DET_TRY_ASSIGN(auto client, FrameClient::join(*rendezvous.chief, key, Rank{0}, deadline));
    DET_TRY_ASSIGN(store.published, PublishedAddress::create(std::move(path), std::move(rendezvous)));
    return Connected{std::move(store), std::move(client)};
}

/// Waits until all ranks are in the chief's store.
Status await_ranks(Bootstrap& bootstrap, fs::path const& path) {
    auto done = bootstrap.fence();
    if (done || done.error().code != codes::timed_out) return done;
    return Error{codes::timed_out, fmt::format("not all of the {} ranks have found the chief by '{}' in time",
                                               bootstrap.size(), path.string())};
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, fs::path rendezvous_path,
                                                      TcpBootstrapOptions options) {
    auto const deadline = steady_clock::now() + options.waits.timeout;
    DET_TRY_ASSIGN(auto const rendezvous, load_rendezvous_file(rendezvous_path));
    SessionKey const key{rendezvous.secret, "store", size};
    OpenStore store;
    if (rank.value == 0) {
        DET_TRY_ASSIGN(store.server, start_store(options.chief_address, key));
        auto published = rendezvous;
        published.chief = store.server->endpoint();
        DET_TRY_ASSIGN(store.published, PublishedAddress::add(rendezvous_path, std::move(published)));
    }
    DET_TRY_ASSIGN(auto client, store.server
                                    ? FrameClient::join(store.server->endpoint(), key, rank, deadline)
                                    : connect_to_chief(rendezvous_path, key, rank, deadline));
    return Result<std::unique_ptr<Bootstrap>>(
        std::make_unique<TcpBootstrap>(rank, size, std::move(store), std::move(client), options.waits));
}

Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap_with_new_secret(Rank rank, int size,
                                                                      fs::path rendezvous_path,
                                                                      TcpBootstrapOptions options) {
    auto const deadline = steady_clock::now() + options.waits.timeout;
    auto connect = [&]() -> Result<Connected> {
        if (rank.value == 0)
            return start_store_with_new_secret(size, rendezvous_path, options.chief_address, deadline);
        DET_TRY_ASSIGN(auto client, connect_to_chief_of_new_file(rendezvous_path, rank, size, deadline,
                                                                 options.rejection_limit));
        return Connected{{}, std::move(client)};
    };
    DET_TRY_ASSIGN(auto connected, connect());
    auto bootstrap = std::make_unique<TcpBootstrap>(rank, size, std::move(connected.store),
                                                    std::move(connected.client), options.waits);
    DET_TRY(await_ranks(*bootstrap, rendezvous_path));
    bootstrap->withdraw_address();
    // A rank may go on, and look for a file of this name again, only when the file has been removed.
    DET_TRY(bootstrap->fence());
    return Result<std::unique_ptr<Bootstrap>>(std::move(bootstrap));
}

}  // namespace det::transport
