#include "run_file_watch.hpp"

#include <array>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace det::launch::supervisor {

RunFileWatch::RunFileWatch(std::filesystem::path file)
    : file_(std::move(file)), events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    auto const directory = file_.parent_path();
    if (events_ && ::inotify_add_watch(events_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0)
        events_.reset();
}

bool RunFileWatch::take(Check check) {
    bool const has_event = drain_events();
    if (was_taken_ || (check == Check::events && !has_event)) return false;
    // Opens the directory too: an NFS client may remember that the file is absent, and asks the server about
    // it after the directory was opened.
    UniqueFd const directory(::open(file_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    was_taken_ = static_cast<bool>(UniqueFd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC)));
    return was_taken_;
}

bool RunFileWatch::drain_events() {
    alignas(inotify_event) std::array<char, 4096> buffer;
    bool has_event = false;
    for (;;) {
        auto const count = events_ ? ::read(events_.get(), buffer.data(), buffer.size()) : -1;
        if (count <= 0) return has_event;
        for (std::ptrdiff_t at = 0; at < count;) {
            auto const* const event = reinterpret_cast<inotify_event const*>(buffer.data() + at);
            bool const is_about_file = event->len > 0 && file_.filename() == event->name;
            has_event = has_event || is_about_file || (event->mask & IN_Q_OVERFLOW) != 0;
            at += static_cast<std::ptrdiff_t>(sizeof *event + event->len);
        }
    }
}

}  // namespace det::launch::supervisor
