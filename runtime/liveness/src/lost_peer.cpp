#include <det/liveness/lost_peer.hpp>

#include <mutex>
#include <utility>

namespace det::liveness {
namespace {

struct SharedHandler {
    std::mutex mutex;
    LostPeerHandler handler;
};

/// Never destroyed: threads may report a lost rank while the process exits.
SharedHandler& shared_handler() {
    static auto& shared = *new SharedHandler;
    return shared;
}

}  // namespace

void set_lost_peer_handler(LostPeerHandler handler) {
    auto& shared = shared_handler();
    std::lock_guard const lock(shared.mutex);
    shared.handler = std::move(handler);
}

void report_lost_peer(std::string const& message) {
    auto& shared = shared_handler();
    std::lock_guard const lock(shared.mutex);
    if (shared.handler) shared.handler(message);
}

}  // namespace det::liveness
