#include "host_copies.hpp"

#include <det/transport/backoff.hpp>

#include <fmt/format.h>

#include "device_wait.hpp"

namespace det::collectives::device {
namespace {

using collectives::CopyTo;
using collectives::DeviceCopy;
using collectives::Handle;

/// They need nothing but the device: whether other ranks live does not matter, and who waits does so until
/// the device uses the memory no longer.
class CopiesOnStream final : public collectives::Pending {
public:
    explicit CopiesOnStream(std::unique_ptr<DeviceEvent> event) : event_(std::move(event)) {}

    Result<bool> test() override { return event_->has_passed(); }
    Status wait() override {
        transport::Backoff backoff(transport::Cores::own);
        auto const end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            DET_TRY_ASSIGN(bool const is_over, event_->has_passed());
            if (is_over) return Ok{};
            if (std::chrono::steady_clock::now() > end) {
                return Error{codes::timed_out,
                             fmt::format("the device has not copied its memory for {} s", limit.count())};
            }
            backoff.pause();
        }
    }
    void* event() const override { return event_->handle(); }

private:
    static constexpr std::chrono::seconds limit = std::chrono::minutes(10);  // a terabyte at 2 GB/s

    std::unique_ptr<DeviceEvent> event_;
};

}  // namespace

Status HostCopies::wait_for_stream() {
    DET_TRY_ASSIGN(auto const event, devices_->record(stream_));
    DeviceWait waiting(
        waits_, host_,
        fmt::format("rank {} has waited for its stream, to copy memory of its device", host_.rank().value));
    return waiting.until([&] { return event->has_passed(); });
}

Handle HostCopies::start(CopyTo to, std::span<DeviceCopy const> copies) {
    if (auto is_free = wait_for_stream(); !is_free) return Handle(std::move(is_free));
    Status put = Ok{};
    for (auto const& copy : copies) {
        if (put) put = devices_->copy(to, copy, stream_);
    }
    auto event = devices_->record(stream_);
    if (!event) return Handle(put ? Status(std::move(event).error()) : std::move(put));
    auto pending = std::make_unique<CopiesOnStream>(*std::move(event));
    if (put) return Handle(std::move(pending));
    static_cast<void>(pending->wait());  // for those before the one that failed
    return Handle(std::move(put));
}

}  // namespace det::collectives::device
