#include "worker.hpp"

#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <system_error>

#include "devices.hpp"
#include "transports.hpp"

namespace det::transport::ucx {
namespace {

using std::chrono::steady_clock;

constexpr char address_key[] = "ucx-address";
constexpr std::chrono::seconds close_timeout{5};
constexpr std::chrono::milliseconds flush_time{1};  // enough if the peer is in a call of UCX as well

constexpr std::chrono::microseconds first_pause{50};
constexpr std::chrono::microseconds longest_pause{5'000};

bool are_over(std::vector<Flush> const& flushes) {
    return std::ranges::none_of(flushes, [](auto const& flush) { return flush.status() == UCS_INPROGRESS; });
}

/// A UCX option that the transport sets. UCX's TCP is left out, because its port asks for no secret. With
/// peer error handling UCX leaves out shared memory unless MM_ERROR_HANDLING is set. By default UCX checks
/// only every 20 s whether a peer process still exists.
struct Setting {
    char const* name;
    std::string value;
};

std::vector<Setting> settings(std::string const& interfaces, std::string const& transports) {
    std::vector<Setting> chosen{{"MM_ERROR_HANDLING", "y"}, {"KEEPALIVE_INTERVAL", "1s"}};
    auto devices = ucx_devices(interfaces);
    if (!interfaces.empty() && devices.empty()) {
        chosen.push_back({"TLS", std::string(transports_of_node)});
        return chosen;
    }
    chosen.push_back({"TLS", without_tcp(transports)});
    if (!devices.empty()) chosen.push_back({"NET_DEVICES", std::move(devices)});
    return chosen;
}

Result<ucp_context_h> make_context(std::string const& interfaces, std::string const& transports) {
    ucp_config_t* raw = nullptr;
    if (auto const status = ucp_config_read(nullptr, nullptr, &raw); status != UCS_OK) {
        return ucx_error("read the configuration of UCX", status);
    }
    std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> const config(raw, ucp_config_release);
    for (auto const& [name, value] : settings(interfaces, transports)) {
        auto const status = ucp_config_modify(raw, name, value.c_str());
        if (status != UCS_OK) return ucx_error(fmt::format("set UCX_{} to '{}'", name, value), status);
    }
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    ucp_context_h context = nullptr;
    if (auto const status = ucp_init(&params, raw, &context); status != UCS_OK) {
        auto error = ucx_error("start UCX", status);
        if (!interfaces.empty())
            error.hint = fmt::format("is there a network interface '{}' here?", interfaces);
        return error;
    }
    return context;
}

}  // namespace

Error ucx_error(std::string const& what, ucs_status_t status) {
    return Error{codes::transport, fmt::format("cannot {}: {}", what, ucs_status_string(status))};
}

FlushThread::FlushThread(ucp_worker_h worker, std::vector<Flush> flushes)
    : worker_(worker),
      flushes_(std::move(flushes)),
      thread_(start_thread("det-ucx-flush", [this](auto const& stop) { run(stop); })) {}

bool FlushThread::stop() {
    thread_.request_stop();
    thread_.join();
    return are_over(flushes_);
}

void FlushThread::run(std::stop_token const& stop) {
    auto pause = first_pause;
    while (!stop.stop_requested() && !are_over(flushes_)) {
        if (ucp_worker_progress(worker_) != 0) {
            pause = first_pause;
            continue;
        }
        std::unique_lock lock(mutex_);
        stopping_.wait_for(lock, stop, pause, [] { return false; });
        pause = std::min(2 * pause, longest_pause);
    }
}

Result<std::unique_ptr<Worker>> Worker::open(std::unique_ptr<Bootstrap> bootstrap, Options options) {
    auto const interfaces = options.interfaces, transports = options.transports;
    std::unique_ptr<Worker> worker(new Worker(std::move(bootstrap), std::move(options)));
    DET_TRY(worker->start(interfaces, transports));
    DET_TRY(worker->publish_address());
    return worker;
}

Status Worker::start(std::string const& interfaces, std::string const& transports) {
    DET_TRY_ASSIGN(context_, make_context(interfaces, transports));
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    auto const status = ucp_worker_create(context_, &params, &worker_);
    if (status != UCS_OK) return ucx_error("make a UCX worker", status);
    return Ok{};
}

Status Worker::publish_address() {
    ucp_address_t* address = nullptr;
    std::size_t size = 0;
    auto const status = ucp_worker_get_address(worker_, &address, &size);
    if (status != UCS_OK) return ucx_error("ask UCX for our address", status);
    std::string const bytes(reinterpret_cast<char const*>(address), size);
    ucp_worker_release_address(worker_, address);
    DET_TRY(bootstrap_->put(address_key, bytes));
    return bootstrap_->fence();
}

Worker::~Worker() {
    flush_thread_.reset();
    if (worker_ != nullptr) {
        if (is_open() && has_all_ranks()) close_with_peers();
        close_endpoints(UCP_EP_CLOSE_FLAG_FORCE);
        ucp_worker_destroy(worker_);
    }
    if (context_ != nullptr) ucp_cleanup(context_);
}

/// Waits until all ranks close the transport. Progresses UCX meanwhile, because a peer may still wait for
/// this rank, for example for the reply to a flush.
void Worker::close_with_peers() {
    try {
        std::atomic<bool> is_over = false;
        auto const fence = start_thread("det-ucx-fence", [&](auto const&) {
            (void)bootstrap_->fence();
            is_over = true;
        });
        liveness::Backoff backoff(cores_);
        while (!is_over) {
            if (!progress()) backoff.pause();
        }
    } catch (std::system_error const&) {  // the thread could not be started
        (void)bootstrap_->fence();
    }
}

bool Worker::has_all_ranks() const {
    if (monitor_ && !monitor_->check()) return false;
    return std::ranges::none_of(peers_, [](Peer const& peer) { return peer.lost.has_value(); });
}

void Worker::close_endpoints(unsigned flags) {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = flags;
    for (auto& peer : peers_) {
        if (peer.endpoint == nullptr) continue;
        wait_for(ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &params), close_timeout);
    }
}

void Worker::on_error(void* peer, ucp_ep_h, ucs_status_t status) { static_cast<Peer*>(peer)->lost = status; }

Result<ucp_ep_h> Worker::endpoint(Rank rank) {
    stop_flush_thread();
    DET_TRY(check_alive(rank));
    auto& peer = at(rank);
    if (peer.endpoint != nullptr) return peer.endpoint;
    DET_TRY_ASSIGN(auto const address, bootstrap_->get(rank, address_key));
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<ucp_address_t const*>(address.data());
    // UCX's transport for messages of a process to itself has no error handling, and needs none.
    params.err_mode = rank == rank_ ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {on_error, &peer};
    auto const status = ucp_ep_create(worker_, &params, &peer.endpoint);
    if (status == UCS_OK) return peer.endpoint;
    peer.endpoint = nullptr;
    return ucx_error(fmt::format("connect rank {} to rank {}", rank_.value, rank.value), status);
}

Status Worker::check_alive(Rank rank) const {
    auto const& lost = at(rank).lost;
    if (!lost) return Ok{};
    auto error = diagnose_lost_peer(monitor_.get(), rank);
    error.message += fmt::format(" ({})", ucs_status_string(*lost));
    return error;
}

void Worker::abandon_peer(Rank rank) {
    auto& peer = at(rank);
    if (peer.endpoint == nullptr) return;
    if (!peer.lost) peer.lost = UCS_ERR_CANCELED;
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    wait_for(ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &params), close_timeout);
}

bool Worker::progress() { return ucp_worker_progress(handle()) != 0; }

Result<std::vector<Flush>> Worker::begin_flushes(std::set<Rank> const& peers) {
    std::vector<Flush> flushes;
    for (auto const peer : peers) {
        DET_TRY_ASSIGN(auto* const to, endpoint(peer));
        ucp_request_param_t const params{};
        auto& flush = flushes.emplace_back(ucp_ep_flush_nbx(to, &params));
        if (auto const status = flush.status(); UCS_STATUS_IS_ERR(status))
            return ucx_error(fmt::format("finish what rank {} sends to rank {}", rank_.value, peer.value),
                             status);
    }
    return flushes;
}

Status Worker::flush() {
    stop_flush_thread();
    auto const peers = std::exchange(unflushed, {});
    DET_TRY_ASSIGN(auto flushes, begin_flushes(peers));
    auto const until = steady_clock::now() + flush_time;
    liveness::Backoff backoff(cores_);
    while (!are_over(flushes) && steady_clock::now() < until) {
        if (!progress()) backoff.pause();
    }
    for (auto const peer : peers) DET_TRY(check_alive(peer));
    return are_over(flushes) ? Status(Ok{}) : flush_in_background(std::move(flushes), peers);
}

Status Worker::flush_in_background(std::vector<Flush> flushes, std::set<Rank> peers) {
    try {
        flush_thread_.emplace(worker_, std::move(flushes));
    } catch (std::system_error const& failure) {
        return Error{codes::transport, fmt::format("cannot start a thread for UCX: {}", failure.what())};
    }
    flushing_ = std::move(peers);
    return Ok{};
}

/// If the thread has not ended its flushes, the next flush() flushes its peers again.
void Worker::stop_flush_thread() {
    if (!flush_thread_) return;
    if (!flush_thread_->stop()) unflushed.merge(flushing_);
    flush_thread_.reset();
}

bool Worker::wait_for(ucs_status_ptr_t request, std::chrono::milliseconds timeout) {
    if (!UCS_PTR_IS_PTR(request)) return !UCS_PTR_IS_ERR(request);
    auto const deadline = steady_clock::now() + timeout;
    liveness::Backoff backoff(cores_);
    bool is_over = false;
    while (!(is_over = ucp_request_check_status(request) != UCS_INPROGRESS) &&
           steady_clock::now() < deadline) {
        if (!progress()) backoff.pause();
    }
    ucp_request_free(request);
    return is_over;
}

}  // namespace det::transport::ucx
