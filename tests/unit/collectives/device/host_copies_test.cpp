// Copies between memory of (fake) devices and host memory, while operations are on the stream.
#include <boost/test/unit_test.hpp>

#include "device_ranks.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::collectives::device;
using tensor::CopyDirection, tensor::DeviceCopy;
using transport::check_ranks;

namespace host_copies_test {

constexpr std::size_t count = 8;

using Floats = std::vector<float>;

DeviceCopy copy_of(Floats& to, Floats const& from) {
    return {to.data(), from.data(), from.size() * sizeof(float)};
}

/// Puts an operation on the stream that does not end while the devices are held.
Result<Handle> put_on_stream(DistributedContext& context, FakeDevices& devices, Floats& values) {
    if (context.is_chief()) devices.hold();
    DET_TRY(context.barrier());
    return context.start_allreduce(Tensor::of(std::span(values)), ReduceOp::sum);
}

}  // namespace host_copies_test

BOOST_AUTO_TEST_SUITE(host_copies_test)

BOOST_AUTO_TEST_CASE(a_copy_follows_the_operations_before_it) {
    FakeDevices devices(2);
    check_ranks(run_devices(2, devices, [&](DistributedContext& context) -> Status {
        Floats there(count, 1.0F), here(count), back(count);
        DET_TRY_ASSIGN(auto const sum, put_on_stream(context, devices, there));
        DET_TRY(context.barrier());
        if (context.is_chief()) devices.release();
        auto* const copies = context.device_copies();
        DET_TRY(expect(copies != nullptr && copies->is_device_memory(there.data()), "devices"));
        DeviceCopy const out[] = {copy_of(here, there)};
        DET_TRY_ASSIGN(auto const to_host, copies->start(CopyDirection::to_host, out));
        DET_TRY(to_host->wait());
        DeviceCopy const in[] = {copy_of(back, here)};
        DET_TRY(copies->start(CopyDirection::to_device, in));  // the destructor waits
        return expect(here == Floats(count, 2.0F) && back == here, "the sum");
    }));
}

BOOST_AUTO_TEST_CASE(no_copy_starts_behind_a_stream_that_does_not_end) {
    FakeDevices devices(2);
    liveness::WaitPolicy waits;
    waits.timeout = std::chrono::milliseconds(200);
    check_ranks(run_devices(
        2, devices,
        [&](DistributedContext& context) -> Status {
            Floats there(count), here(count);
            DET_TRY_ASSIGN(auto const sum, put_on_stream(context, devices, there));
            DeviceCopy const out[] = {copy_of(here, there)};
            auto const result = context.device_copies()->start(CopyDirection::to_host, out);
            DET_TRY(expect(!result, "an error"));
            DET_TRY(
                expect_words(result.error(), {"has waited for its stream, to copy memory of its device"}));
            DET_TRY(expect(result.error().code == codes::timed_out, "a timeout"));
            return context.barrier();
        },
        waits));
    BOOST_TEST(devices.copies_done == 0);
}

BOOST_AUTO_TEST_CASE(copies_before_a_failed_one_are_waited_for) {
    FakeDevices devices(1);
    devices.copies_until_broken = 2;
    check_ranks(run_devices(1, devices, [&](DistributedContext& context) -> Status {
        Floats there(count), here(count);
        auto const one = copy_of(here, there);
        DeviceCopy const out[] = {one, one, one, one};
        auto const result = context.device_copies()->start(CopyDirection::to_host, out);
        DET_TRY(expect(!result, "an error"));
        DET_TRY(expect_words(result.error(), {"cannot copy: it broke"}));
        return expect(devices.copies_done == 2, "both");
    }));
}

BOOST_AUTO_TEST_CASE(host_memory_is_pinned_while_the_guard_exists) {
    FakeDevices devices(1);
    check_ranks(run_devices(1, devices, [&](DistributedContext& context) -> Status {
        std::vector<std::byte> host(100);
        DET_TRY_ASSIGN(auto pinned, context.device_copies()->pin(host));
        DET_TRY(expect(devices.pinned_now == 1, "to be pinned"));
        pinned.reset();
        return expect(devices.pinned_now == 0, "to be pinned no longer");
    }));
}

BOOST_AUTO_TEST_CASE(ranks_without_devices_have_no_device_copies) {
    BOOST_TEST(DistributedContext::single().device_copies() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
