#include <det/collectives/device/device_group.hpp>
#include <det/collectives/distributed_context.hpp>

#include <fmt/format.h>

#include "device_steps.hpp"
#include "host_copies.hpp"

namespace det::collectives::device {
namespace {

using collectives::Call;
using collectives::Handle;
using collectives::RankGroup;
using collectives::TensorCall;

Status const no_refusal = Ok{};

class DeviceGroup final : public RankGroup {
public:
    DeviceGroup(std::shared_ptr<RankGroup> host, std::shared_ptr<DeviceBackend> devices,
                liveness::WaitPolicy waits)
        : RankGroup(host->rank(), host->size()),
          host_(std::move(host)),
          devices_(std::move(devices)),
          waits_(std::move(waits)) {
        set_global_ranks(host_->global_ranks());
    }
    ~DeviceGroup() override { finish(); }

    Status barrier() override {
        ++sequence_;
        return host_->barrier();
    }
    Result<std::vector<std::string>> gather(std::string value, Status const& refused) override {
        ++sequence_;
        return host_->gather(std::move(value), refused);
    }
    Result<std::vector<std::string>> allgather(std::string value, Status const& refused) override {
        ++sequence_;
        return host_->allgather(std::move(value), refused);
    }
    Result<std::string> broadcast(std::string value, Rank from, Status const& refused) override {
        ++sequence_;
        return host_->broadcast(std::move(value), from, refused);
    }

    Status run(TensorCall const& call, Status const& refused) override {
        auto const location = location_of(call);
        if (location != Location::host) return begin(call, location, refused).wait();
        ++sequence_;
        return host_->run(call, refused);
    }
    Handle start(TensorCall const& call, Status const& refused) override {
        auto const location = location_of(call);
        if (location != Location::host) return begin(call, location, refused);
        ++sequence_;
        return host_->start(call, refused);
    }

    Result<collectives::Buffer> allocate(std::size_t size_bytes) override {
        return host_->allocate(size_bytes);
    }
    Status use_stream(void* stream) override {
        stream_ = stream;
        copies_.use_stream(stream);
        return Ok{};
    }
    tensor::DeviceCopies* device_copies() override { return &copies_; }
    std::string algorithm_name(TensorCall const& call) const override {
        return location_of(call) == Location::host ? host_->algorithm_name(call)
                                                   : std::string("the library of the devices");
    }
    collectives::ControlChannel control_channel() override { return host_->control_channel(); }
    Status check_ranks() override { return host_->check_ranks(); }
    Result<std::unique_ptr<RankGroup>> make_cross_group() override {
        DET_TRY_ASSIGN(auto part, host_->make_cross_group());
        return with_own_devices(std::move(part));
    }
    std::unique_ptr<RankGroup> with_own_devices(std::unique_ptr<RankGroup> part) override {
        return make_device_group(std::move(part), devices_, waits_);
    }
    void abandon() noexcept override {
        end_devices({codes::misuse, fmt::format("rank {} has left the others", rank().value)});
        host_->abandon();
    }

    /// Blocks until the event has passed.
    Status wait_for(DeviceEvent& event, Call const& call) {
        if (failure_) return *failure_;
        return wait(call, [&] { return has_passed(event); });
    }
    Result<bool> test(DeviceEvent& event, Call const& call) {
        if (failure_) return *failure_;
        auto const ranks = host_->check_ranks();
        auto passed =
            has_passed(event);  // checked after the ranks, because a rank may end after it has done its part
        if (!passed) return fail(std::move(passed).error(), call);
        if (!*passed && !ranks) return fail(ranks.error(), call);
        return passed;
    }

private:
    enum class Location { host, device, mixed };

    Result<bool> has_passed(DeviceEvent& event) {
        DET_TRY(communicator_->is_ready());  // reports failures of other ranks' devices
        return event.has_passed();
    }

    Location location_of(TensorCall const& call) const {
        // An empty or null buffer counts as neither host nor device memory.
        bool const has_in = call.in.count != 0 && call.in.data != nullptr;
        bool const has_out = call.out.count != 0 && call.out.data != nullptr;
        bool const in = has_in && devices_->is_device_memory(call.in.data);
        bool const out =
            has_out && (call.out.data == call.in.data ? in : devices_->is_device_memory(call.out.data));
        if (!in && !out) return Location::host;
        return (has_in && !in) || (has_out && !out) ? Location::mixed : Location::device;
    }

    Status check(Location location) const {
        if (location == Location::mixed) {
            return Error{codes::misuse, "one buffer is memory of a device and the other of the host",
                         "pass both from the same side"};
        }
        return check_not_capturing(*devices_, stream_);
    }

    /// Returns when all ranks have entered. Fails on all ranks if their calls differ or a rank refuses.
    Status agree(Call const& call, Status const& refused) {
        host_->set_scope(call);
        auto const agreed =
            refused ? host_->barrier() : host_->run({}, error_scope().with_rank(refused.error(), rank()));
        host_->set_scope(std::nullopt);
        return agreed;
    }

    Handle begin(TensorCall const& call, Location location, Status const& refused);

    Result<std::unique_ptr<DeviceEvent>> put_on_stream(TensorCall const& call, Call const& reported) {
        DET_TRY(connect(reported));
        auto scratch = scratch_for(call);
        if (!scratch) return fail(std::move(scratch).error(), reported);
        auto const steps = device_steps_of(call, rank(), size(), *scratch ? (*scratch)->data() : nullptr);
        if (auto taken = communicator_->enqueue(steps, stream_); !taken)
            return fail(std::move(taken).error(), reported);
        // enqueue() may still be in progress. An event that is recorded before it is done would precede the
        // work.
        if (auto ready = wait_until_ready(reported); !ready) {
            // A blocked call of the library may still put work on the stream that uses the memory: it is
            // never released. The group can't be used any more.
            static_cast<void>(scratch->release());
            return std::move(ready).error();
        }
        auto event = devices_->record(stream_);
        if (!event) return fail(std::move(event).error(), reported);
        return event;
    }

    Result<std::unique_ptr<DeviceScratch>> scratch_for(TensorCall const& call) {
        auto const size_bytes = scratch_bytes(call);
        if (size_bytes == 0) return std::unique_ptr<DeviceScratch>();
        return devices_->allocate(size_bytes, stream_);
    }

    /// The chief's id; empty on the other ranks.
    Result<std::string> make_id() {
        DET_TRY(devices_->load_communication_library());
        return rank() == collectives::chief ? devices_->make_id() : std::string();
    }

    /// Connects the devices at the first call: the chief's id is broadcast by the host group. If a rank lacks
    /// the library, all ranks get its Error, and nothing else changes.
    Status connect(Call const& call) {
        if (communicator_) return Ok{};
        auto const id = make_id();
        ++sequence_;
        auto const refused = id ? no_refusal : Status(id.error());
        DET_TRY_ASSIGN(auto const common, host_->broadcast(id ? *id : "", collectives::chief, refused));
        auto begun = devices_->begin_connect(common, rank(), size());
        if (!begun) return fail(std::move(begun).error(), call);
        communicator_ = *std::move(begun);
        return wait_until_ready(call);
    }

    Status wait_until_ready(Call const& call) {
        return wait(call, [this] { return communicator_->is_ready(); });
    }

    Status wait(Call const& call, std::function<Result<bool>()> const& is_over) {
        auto result = wait_until(
            is_over, waits_, host_.get(),
            fmt::format("rank {} has waited for devices in {}", rank().value, describe_numbered_call(call)));
        if (!result) return fail(std::move(result).error(), call);
        return Ok{};
    }

    /// Aborts all work on devices, because other ranks may already take part in it. Returns the Error with
    /// the operation added.
    Error fail(Error error, Call const& call) {
        error.message += fmt::format("; rank {} was in {}", rank().value, describe_numbered_call(call));
        if (error.hint.empty())
            error.hint = "end this rank, or make a new context of the ranks that are left";
        end_devices(error);
        return error;
    }
    void end_devices(Error why) noexcept {
        if (communicator_) communicator_->abort();
        communicator_.reset();
        if (!failure_) failure_ = std::move(why);
    }

    void finish() {
        if (!communicator_) return;
        auto const is_ready = [this] { return communicator_->is_ready(); };
        bool const is_finished = communicator_->begin_finish() &&
                                 wait_until(is_ready, {.timeout = std::chrono::seconds(5)}, host_.get(),
                                            "the devices' communicator was not closed");
        if (!is_finished) communicator_->abort();
    }

    std::shared_ptr<RankGroup> host_;
    std::shared_ptr<DeviceBackend> devices_;
    liveness::WaitPolicy waits_;
    std::unique_ptr<DeviceCommunicator> communicator_;  // null: not connected yet, or failed
    std::optional<Error> failure_;
    HostCopies copies_{*host_, devices_, waits_};
    Stream stream_ = nullptr;
    std::uint64_t sequence_ = 0;  // number of operations, counted like those of `host_`
};

class PendingOnStream final : public collectives::Pending {
public:
    PendingOnStream(DeviceGroup& group, std::unique_ptr<DeviceEvent> event, Call const& call)
        : group_(group), event_(std::move(event)), call_(call) {}

    Result<bool> test() override { return group_.test(*event_, call_); }
    Status wait() override { return group_.wait_for(*event_, call_); }
    void* event() const override { return event_->handle(); }

private:
    DeviceGroup& group_;
    std::unique_ptr<DeviceEvent> event_;
    Call call_;
};

Handle DeviceGroup::begin(TensorCall const& call, Location location, Status const& refused) {
    if (failure_) return Handle(*failure_);
    auto reported = device_call_of(call);
    reported.sequence = sequence_++;
    auto agreed = agree(reported, refused ? check(location) : refused);
    if (!agreed && agreed.error().code != codes::misuse) end_devices(agreed.error());
    if (!agreed) return Handle(std::move(agreed));
    auto event = put_on_stream(call, reported);
    if (!event) return Handle(Status(std::move(event).error()));
    return Handle(std::make_unique<PendingOnStream>(*this, *std::move(event), reported));
}

}  // namespace

std::unique_ptr<RankGroup> make_device_group(std::shared_ptr<RankGroup> host,
                                             std::shared_ptr<DeviceBackend> devices,
                                             liveness::WaitPolicy waits) {
    return std::make_unique<DeviceGroup>(std::move(host), std::move(devices), std::move(waits));
}

}  // namespace det::collectives::device
