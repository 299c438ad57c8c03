#include "host_copies.hpp"

#include <det/liveness/backoff.hpp>

#include <fmt/format.h>

#include "device_wait.hpp"

namespace det::collectives::device {
namespace {

using tensor::DeviceCopy;
using tensor::PendingCopies;

/// Copies on a stream, which are complete when their event has passed. wait() waits for the device only,
/// because copies do not depend on other ranks.
class CopiesOnStream final : public PendingCopies {
public:
    explicit CopiesOnStream(std::unique_ptr<DeviceEvent> event) : event_(std::move(event)) {}
    CopiesOnStream(CopiesOnStream const&) = delete;
    CopiesOnStream& operator=(CopiesOnStream const&) = delete;
    ~CopiesOnStream() override {
        if (event_) static_cast<void>(wait());
    }

    Status wait() override {
        auto const event = std::exchange(event_, nullptr);
        liveness::Backoff backoff(liveness::Cores::own);
        auto const end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            DET_TRY_ASSIGN(bool const is_over, event->has_passed());
            if (is_over) return Ok{};
            if (std::chrono::steady_clock::now() > end) {
                return Error{codes::timed_out,
                             fmt::format("the device has not copied its memory for {} s", limit.count())};
            }
            backoff.pause();
        }
    }

private:
    static constexpr std::chrono::seconds limit = std::chrono::minutes(10);  // a terabyte at 2 GB/s

    std::unique_ptr<DeviceEvent> event_;  // null: wait() was called
};

}  // namespace

Status HostCopies::wait_for_stream() {
    DET_TRY_ASSIGN(auto const event, devices_->record(stream_));
    DeviceWait waiting(
        waits_, host_,
        fmt::format("rank {} has waited for its stream, to copy memory of its device", host_.rank().value));
    return waiting.until([&] { return event->has_passed(); });
}

Result<std::unique_ptr<PendingCopies>> HostCopies::start(tensor::CopyDirection direction,
                                                         std::span<DeviceCopy const> copies) {
    DET_TRY(wait_for_stream());
    Status started = Ok{};
    for (auto const& copy : copies) {
        if (started) started = devices_->copy(direction, copy, stream_);
    }
    auto event = devices_->record(stream_);
    if (!event) return started ? std::move(event).error() : std::move(started).error();
    std::unique_ptr<PendingCopies> pending = std::make_unique<CopiesOnStream>(*std::move(event));
    if (!started) return std::move(started).error();  // `pending` waits for the copies that were started
    return pending;
}

}  // namespace det::collectives::device
