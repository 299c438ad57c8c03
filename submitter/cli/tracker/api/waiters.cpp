#include "waiters.hpp"

#include <det/foundation/start_thread.hpp>

#include <exception>

namespace det::tracker::api {

Waiters::Waiters(std::chrono::milliseconds interval)
    : interval_(interval),
      thread_(start_thread("det-api-wait", [this](std::stop_token const& stop) { run(stop); })) {}

Waiters::~Waiters() {
    thread_.request_stop();
    thread_.join();
}

void Waiters::add(http::Responder responder, Check check) {
    {
        std::lock_guard const lock(mutex_);
        added_.push_back({std::move(responder), std::move(check)});
    }
    changed_.notify_one();
}

void Waiters::wake() {
    {
        std::lock_guard const lock(mutex_);
        is_woken_ = true;
    }
    changed_.notify_one();
}

void Waiters::run(std::stop_token const& stop) {
    std::vector<Waiting> waiting;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex_);
            if (waiting.empty()) {
                changed_.wait(lock, stop, [this] { return !added_.empty(); });
            } else {
                changed_.wait_for(lock, stop, interval_, [this] { return !added_.empty() || is_woken_; });
            }
            is_woken_ = false;
            std::move(added_.begin(), added_.end(), std::back_inserter(waiting));
            added_.clear();
        }
        std::erase_if(waiting, [](Waiting const& each) {
            if (each.responder.is_done()) return true;
            try {
                auto response = each.check();
                if (!response) return false;
                each.responder.respond(*std::move(response));
            } catch (std::exception const& problem) {
                each.responder.respond(http::error_response(Error{codes::internal, problem.what()}));
            }
            return true;
        });
    }
}

}  // namespace det::tracker::api
