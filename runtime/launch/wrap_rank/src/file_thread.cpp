#include "file_thread.hpp"

#include <det/foundation/start_thread.hpp>

#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace det::launch::wrap_rank {

FileThread::FileThread(RelayedCommand const& command)
    : command_(command),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_(start_thread("det-files", [this](std::stop_token const& stop) { run(stop); })) {}

FileThread::~FileThread() {
    thread_.request_stop();
    thread_.join();
}

void FileThread::request(Work work) {
    {
        std::scoped_lock const lock(mutex_);
        requested_ |= work;
    }
    changed_.notify_all();
}

FileThread::Found FileThread::take() {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof count);
    std::scoped_lock const lock(mutex_);
    return std::exchange(found_, {});
}

void FileThread::run(std::stop_token const& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return requested_ != 0; })) {
        auto const work = static_cast<Work>(requested_ & -requested_);  // the lowest bit
        requested_ &= ~work;
        lock.unlock();
        execute(work);
        lock.lock();
    }
}

void FileThread::execute(Work work) {
    if (work == record_notice) command_.record_notice();
    if (work == write_waits) command_.write_waits();
    if (work == watch) command_.watch();
    if (work != beat) return;
    bool const may_continue = command_.beat();
    std::vector<std::string_view> requests;
    if (command_.find_requests) requests = command_.find_requests();
    {
        std::scoped_lock const lock(mutex_);
        found_.must_end = found_.must_end || !may_continue;
        found_.requests = std::move(requests);  // a request is found by each heartbeat
    }
    std::uint64_t const one = 1;
    (void)!::write(event_.get(), &one, sizeof one);
}

}  // namespace det::launch::wrap_rank
