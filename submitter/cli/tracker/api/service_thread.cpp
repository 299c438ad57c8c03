#include "service_thread.hpp"

#include <det/foundation/start_thread.hpp>

#include <exception>
#include <utility>

namespace det::tracker::api {
namespace {

http::Response call(ServiceThread::Work const& work) {
    try {
        return work();
    } catch (std::exception const& problem) {
        return http::error_response(Error{codes::internal, problem.what()});
    }
}

}  // namespace

ServiceThread::ServiceThread()
    : thread_(start_thread("det-api-service", [this](std::stop_token const& stop) { run(stop); })) {}

ServiceThread::~ServiceThread() {
    thread_.request_stop();
    thread_.join();
}

void ServiceThread::add(http::Responder responder, Work work, IfClientGoes if_client_goes) {
    {
        std::lock_guard const lock(mutex_);
        if (tasks_.size() >= waiting_max) {
            return responder.respond(http::error_response(
                Error{codes::slurm_unreachable, "too many requests wait for Slurm", "try again later"}));
        }
        tasks_.push_back({std::move(responder), std::move(work), if_client_goes});
    }
    changed_.notify_one();
}

void ServiceThread::run(std::stop_token const& stop) {
    for (;;) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested()) return;
        auto const task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        if (task.if_client_goes == IfClientGoes::skip && task.responder.is_done()) continue;
        task.responder.respond(call(task.work));
    }
}

}  // namespace det::tracker::api
