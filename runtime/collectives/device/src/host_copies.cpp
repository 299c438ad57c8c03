#include "host_copies.hpp"

#include <det/liveness/backoff.hpp>

#include <fmt/format.h>

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
        constexpr std::chrono::minutes limit(10);  // a terabyte at 2 GB/s
        return wait_until([&] { return event->has_passed(); }, {.timeout = limit}, nullptr,
                          "the device has not copied its memory");
    }

private:
    std::unique_ptr<DeviceEvent> event_;  // null: wait() was called
};

}  // namespace

Status wait_until(std::function<Result<bool>()> const& is_over, liveness::WaitPolicy const& policy,
                  collectives::RankGroup* ranks, std::string const& what) {
    liveness::WaitTimer timer(policy);
    liveness::Backoff backoff(liveness::Cores::own);
    auto const check = [&]() -> Status {
        if (ranks != nullptr) DET_TRY(ranks->check_ranks());
        return timer.check(
            liveness::WaitTimer::Clock::now(), [&] { return what; }, "; all ranks are alive");
    };
    constexpr int polls_per_check = 64;
    for (int polls = 0;; ++polls) {
        // is_over() is called after the check, because a rank may end after it has done its part.
        auto const checked = (polls + 1) % polls_per_check == 0 ? check() : Ok{};
        DET_TRY_ASSIGN(bool const is_done, is_over());
        if (is_done) return Ok{};
        DET_TRY(checked);
        backoff.pause();
    }
}

Status check_not_capturing(DeviceBackend const& devices, Stream stream) {
    DET_TRY_ASSIGN(bool const is_capturing, devices.is_capturing(stream));
    if (!is_capturing) return Ok{};
    return Error{codes::misuse,
                 "the stream is captured into a graph, which has no collectives and no checkpoints",
                 "make the call before or after the capture, or set another stream for it (use_stream)"};
}

Status HostCopies::wait_for_stream() {
    DET_TRY_ASSIGN(auto const event, devices_->record(stream_));
    return wait_until(
        [&] { return event->has_passed(); }, waits_, &host_,
        fmt::format("rank {} has waited for its stream, to copy memory of its device", host_.rank().value));
}

/// Copies to the host have a stream of their own, so that those of a save run beside the work that the
/// program puts on its stream afterwards. Copies to the device are on the program's stream, before that work.
Result<Stream> HostCopies::stream_for(tensor::CopyDirection direction) {
    if (direction == tensor::CopyDirection::to_device) return stream_;
    if (!own_stream_) {
        DET_TRY_ASSIGN(own_stream_, devices_->make_stream());
    }
    return own_stream_->handle();
}

Result<std::unique_ptr<PendingCopies>> HostCopies::start(tensor::CopyDirection direction,
                                                         std::span<DeviceCopy const> copies) {
    DET_TRY(check_not_capturing(*devices_, stream_));
    DET_TRY(wait_for_stream());
    DET_TRY_ASSIGN(auto* const stream, stream_for(direction));
    Status started = Ok{};
    for (auto const& copy : copies) {
        if (started) started = devices_->copy(direction, copy, stream);
    }
    auto event = devices_->record(stream);
    if (!event) return started ? std::move(event).error() : std::move(started).error();
    std::unique_ptr<PendingCopies> pending = std::make_unique<CopiesOnStream>(*std::move(event));
    if (!started) return std::move(started).error();  // `pending` waits for the copies that were started
    return pending;
}

}  // namespace det::collectives::device
