#include <det/foundation/line_queue.hpp>
#include <det/foundation/start_thread.hpp>

#include <algorithm>
#include <utility>

namespace det {

LineQueue::LineQueue(char const* thread_name, Write write, std::size_t limit_bytes)
    : write_(std::move(write)),
      limit_bytes_(limit_bytes),
      thread_(start_thread(thread_name, [this](std::stop_token const& stop) { write_lines(stop); })) {}

LineQueue::~LineQueue() {
    thread_.request_stop();
    thread_.join();
}

void LineQueue::append(std::string_view lines) {
    {
        std::scoped_lock const lock(mutex_);
        // Once a line was left out, later ones are too, until the thread has taken the lines before it: so
        // the gap is in one place.
        if (missing_ > 0 || queued_.size() + lines.size() > limit_bytes_)
            missing_ += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
        else
            queued_.append(lines);
    }
    changed_.notify_all();
}

void LineQueue::flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_written(); });
}

bool LineQueue::flush_for(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return is_written(); });
}

void LineQueue::write_lines(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !queued_.empty() || missing_ > 0; })) {
        auto const lines = std::exchange(queued_, {});
        auto const missing = std::exchange(missing_, 0);
        is_writing_ = true;
        lock.unlock();
        write_(lines, missing);
        lock.lock();
        is_writing_ = false;
        changed_.notify_all();
    }
}

}  // namespace det
