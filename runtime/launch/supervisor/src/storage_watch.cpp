#include "storage_watch.hpp"

#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <optional>
#include <poll.h>
#include <utility>

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto before_first_probe = 2s;  // usually a run begins or ends sooner
constexpr auto between_probes = 5s;
constexpr auto until_next_look = 500ms;  // while a probe has no answer

}  // namespace

StorageWatch::StorageWatch(Settings settings)
    : settings_(std::move(settings)),
      probe_(StorageProbe::of_answers(settings_.directory)),
      thread_(start_thread("det-storage", [this](std::stop_token const& stop) { run(stop); })) {}

StorageWatch::~StorageWatch() {
    thread_.request_stop();
    thread_.join();
}

bool StorageWatch::wait_until(std::stop_token const& stop, Time time) {
    std::unique_lock lock(mutex_);
    stopped_.wait_until(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

bool StorageWatch::any_step_runs() const {
    return std::ranges::any_of(settings_.steps, [](UniqueFd const& step) {
        pollfd has_ended{step.get(), POLLIN, 0};
        return ::poll(&has_ended, 1, 0) == 0;
    });
}

void StorageWatch::run(std::stop_token const& stop) {
    auto next = std::chrono::steady_clock::now() + before_first_probe;
    std::optional<Time> unanswered_since;
    bool is_delayed = false;
    while (wait_until(stop, next)) {
        bool const has_answered = probe_.ask(50ms);
        auto const now = std::chrono::steady_clock::now();
        if (has_answered)
            unanswered_since.reset();
        else if (!unanswered_since)
            unanswered_since = now;
        next = now + (has_answered ? std::chrono::milliseconds(between_probes) : until_next_look);
        if (has_answered || now - *unanswered_since < settings_.limit) continue;
        if (!any_step_runs()) return settings_.on_silence();
        if (!std::exchange(is_delayed, true)) settings_.on_delay();
    }
}

}  // namespace det::launch::supervisor
