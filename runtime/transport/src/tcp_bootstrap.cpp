#include <det/transport/tcp_bootstrap.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "frame_client.hpp"
#include "store.hpp"

namespace det::transport {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::size_t meeting_limit_bytes = 4096;

Result<Rendezvous> load_rendezvous(fs::path const& path) {
    DET_TRY_ASSIGN(auto const text, read_file(path, meeting_limit_bytes));
    return parse_rendezvous(text);
}

/// The store in the chief's process. Its address is in the rendezvous file while this object exists.
class OpenStore {
public:
    static Result<OpenStore> open(fs::path path, Rendezvous rendezvous, SessionKey const& key,
                                  std::string const& address) {
        DET_TRY_ASSIGN(auto server, FrameServer::start(address, key, Store::frame_limit_bytes,
                                                       std::make_unique<Store>(key.size)));
        rendezvous.chief = server->endpoint();
        DET_TRY(write_file(path, render_rendezvous(rendezvous)));
        return OpenStore(std::move(path), std::move(rendezvous), std::move(server));
    }
    OpenStore(OpenStore&&) noexcept = default;
    OpenStore& operator=(OpenStore&&) = delete;
    ~OpenStore() {
        if (!server_) return;
        meeting_.chief.reset();
        (void)write_file(path_, render_rendezvous(meeting_));  // the old address is no longer valid
    }

    Endpoint const& endpoint() const { return server_->endpoint(); }

private:
    OpenStore(fs::path path, Rendezvous rendezvous, std::unique_ptr<FrameServer> server)
        : path_(std::move(path)), meeting_(std::move(rendezvous)), server_(std::move(server)) {}

    fs::path path_;
    Rendezvous meeting_;
    std::unique_ptr<FrameServer> server_;
};

class TcpBootstrap final : public Bootstrap {
public:
    TcpBootstrap(Rank rank, int size, std::optional<OpenStore> store, FrameClient client,
                 BootstrapOptions options)
        : Bootstrap(rank, size), store_(std::move(store)), client_(std::move(client)), options_(options) {}

private:
    Result<std::string> ask(std::string_view request, std::size_t reply_limit_bytes, std::string const& what);
    Status do_put(std::string const& key, std::string const& value) override;
    Result<std::string> do_get(Rank from, std::string const& key) override;
    Result<std::vector<std::string>> do_allgather(std::string const& value) override;

    std::optional<OpenStore> store_;
    FrameClient client_;
    BootstrapOptions options_;
};

constexpr std::size_t text_limit_bytes = Bootstrap::value_limit_bytes + 64;

Result<std::string> TcpBootstrap::ask(std::string_view request, std::size_t reply_limit_bytes,
                                      std::string const& what) {
    auto const deadline = steady_clock::now() + options_.timeout;
    DET_TRY(client_.send(request, deadline));
    auto reply = client_.receive(reply_limit_bytes, deadline);
    if (!reply) return std::move(reply).error().while_doing(what);
    if (!reply->empty() && reply->front() == static_cast<char>(StoreReply::done)) return reply->substr(1);
    return Error{codes::transport, reply->empty() ? "the chief said nothing" : reply->substr(1)}.while_doing(
        what);
}

Status TcpBootstrap::do_put(std::string const& key, std::string const& value) {
    DET_TRY(ask(render_put(key, value), text_limit_bytes, fmt::format("telling the chief '{}'", key)));
    return Ok{};
}

Result<std::string> TcpBootstrap::do_get(Rank from, std::string const& key) {
    return ask(render_get(from, key), text_limit_bytes,
               fmt::format("asking the chief for '{}' of rank {}", key, from.value));
}

Result<std::vector<std::string>> TcpBootstrap::do_allgather(std::string const& value) {
    auto const limit = static_cast<std::size_t>(size()) * text_limit_bytes;
    DET_TRY_ASSIGN(auto const text, ask(render_gather(value), limit, "waiting for all ranks to come"));
    auto values = parse_gathered(text, size());
    if (values) return *std::move(values);
    return Error{codes::transport, "the chief did not say what the ranks gave"};
}

/// Retries until the chief can be reached: the file may have no address yet, or the address of an earlier
/// chief.
Result<FrameClient> find_chief(fs::path const& path, SessionKey const& key, Rank rank, TimePoint deadline) {
    using namespace std::chrono_literals;
    for (auto nap = 1ms;; nap = std::min(nap * 2, 50ms)) {
        DET_TRY_ASSIGN(auto const rendezvous, load_rendezvous(path));
        Error last{codes::timed_out,
                   fmt::format("the chief has not said in '{}' where it listens", path.string())};
        if (rendezvous.chief) {
            auto client = FrameClient::join(*rendezvous.chief, key, rank, deadline);
            if (client || client.error().code == codes::permission) return client;
            last = std::move(client).error();
        }
        if (steady_clock::now() >= deadline) {
            return std::move(last).while_doing(fmt::format("looking for the chief as rank {}", rank.value));
        }
        std::this_thread::sleep_for(nap);
    }
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(Rank rank, int size, fs::path rendezvous_path,
                                                      TcpBootstrapOptions options) {
    auto const deadline = steady_clock::now() + options.waits.timeout;
    DET_TRY_ASSIGN(auto const rendezvous, load_rendezvous(rendezvous_path));
    SessionKey const key{rendezvous.secret, "store", size};
    std::optional<OpenStore> store;
    if (rank.value == 0) {
        DET_TRY_ASSIGN(auto opened, OpenStore::open(rendezvous_path, rendezvous, key, options.chief_address));
        store.emplace(std::move(opened));
    }
    DET_TRY_ASSIGN(auto client, store ? FrameClient::join(store->endpoint(), key, rank, deadline)
                                      : find_chief(rendezvous_path, key, rank, deadline));
    return Result<std::unique_ptr<Bootstrap>>(
        std::make_unique<TcpBootstrap>(rank, size, std::move(store), std::move(client), options.waits));
}

}  // namespace det::transport
