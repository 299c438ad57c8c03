#include "flush_thread.hpp"

#include <det/foundation/thread.hpp>

#include <algorithm>
#include <chrono>

namespace det::transport::ucx {
namespace {

using std::chrono::microseconds;

constexpr microseconds first_nap{50};
constexpr microseconds longest_nap{5'000};

}  // namespace

bool are_over(std::vector<Flush> const& flushes) {
    return std::ranges::none_of(flushes, [](auto const& flush) { return flush.status() == UCS_INPROGRESS; });
}

FlushThread::FlushThread(ucp_worker_h worker, std::vector<Flush> flushes)
    : worker_(worker),
      flushes_(std::move(flushes)),
      thread_(start_thread("det-ucx-flush", [this](auto const& told_to_end) { run(told_to_end); })) {}

void FlushThread::run(std::stop_token const& told_to_end) {
    auto nap = first_nap;
    while (!told_to_end.stop_requested() && !are_over(flushes_)) {
        if (ucp_worker_progress(worker_) != 0) {
            nap = first_nap;
            continue;
        }
        std::unique_lock lock(mutex_);
        ending_.wait_for(lock, told_to_end, nap, [] { return false; });
        nap = std::min(2 * nap, longest_nap);
    }
}
}  // namespace det::transport::ucx
