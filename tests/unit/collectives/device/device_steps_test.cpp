// The steps of a device for a call.
#include "device_steps.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::collectives;
using namespace det::collectives::device;

namespace works_test {

constexpr int ranks = 4;
std::byte in_memory[256], out_memory[256];

TensorCall call_of_floats(Kind kind, std::size_t in, std::size_t out, Rank root = {}) {
    return {.kind = kind,
            .in = {in_memory, in, DataType::float32},
            .out = {out_memory, out, DataType::float32},
            .op = ReduceOp::max,
            .root = root};
}

}  // namespace works_test

BOOST_AUTO_TEST_SUITE(works_test)

BOOST_AUTO_TEST_CASE(counts_are_those_of_the_device_library) {
    struct {
        Kind kind;
        std::size_t in, out, count;
        DeviceAction action;
    } const cases[] = {
        {Kind::allreduce, 8, 8, 8, DeviceAction::allreduce},
        {Kind::reduce, 8, 8, 8, DeviceAction::reduce},
        {Kind::reduce_scatter, 8, 2, 2, DeviceAction::reduce_scatter},
        {Kind::allgather_elements, 2, 8, 2, DeviceAction::allgather},
        {Kind::broadcast, 8, 8, 8, DeviceAction::broadcast},
    };
    for (auto const& [kind, in, out, count, action] : cases) {
        auto const steps = device_steps_of(call_of_floats(kind, in, out, {1}), {1}, ranks);
        BOOST_REQUIRE(steps.size() == 1u);
        BOOST_TEST(steps[0].count == count);
        BOOST_TEST((steps[0].action == action));
        BOOST_TEST((steps[0].op == ReduceOp::max));
        BOOST_TEST(steps[0].peer.value == 1);
        BOOST_TEST(steps[0].out == out_memory);
        BOOST_TEST(steps[0].in == (kind == Kind::broadcast ? out_memory : in_memory));
    }
}

BOOST_AUTO_TEST_CASE(only_the_root_of_a_reduce_gets_a_result) {
    BOOST_TEST(device_steps_of(call_of_floats(Kind::reduce, 8, 8, {2}), {1}, ranks)[0].out == nullptr);
    BOOST_TEST(device_steps_of(call_of_floats(Kind::reduce, 8, 8, {2}), {2}, ranks)[0].out == out_memory);
}

BOOST_AUTO_TEST_CASE(all_to_all_is_a_send_to_and_a_receive_from_each_rank) {
    auto const steps = device_steps_of(call_of_floats(Kind::all_to_all, 8, 8), {1}, ranks);
    BOOST_REQUIRE(steps.size() == 2u * ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        auto const& send = steps[2 * i];
        auto const& receive = steps[2 * i + 1];
        BOOST_TEST((send.action == DeviceAction::send && receive.action == DeviceAction::receive));
        BOOST_TEST(send.peer.value == static_cast<int>(i));
        BOOST_TEST(receive.peer.value == static_cast<int>(i));
        BOOST_TEST(send.in == in_memory + i * 2 * sizeof(float));
        BOOST_TEST(receive.out == out_memory + i * 2 * sizeof(float));
        BOOST_TEST(send.count == 2u);
    }
}

BOOST_AUTO_TEST_CASE(counts_beyond_32_bits_are_kept) {
    constexpr std::size_t count = std::size_t{1} << 33;
    auto call = call_of_floats(Kind::all_to_all, count, count);
    auto const steps = device_steps_of(call, {0}, ranks);
    BOOST_TEST(steps.back().count == count / ranks);
    BOOST_TEST(static_cast<std::size_t>(static_cast<std::byte*>(steps.back().out) - out_memory) ==
               count * sizeof(float) / ranks * (ranks - 1));
}

BOOST_AUTO_TEST_CASE(a_call_on_devices_differs_from_the_same_call_in_host_memory) {
    auto const call = call_of_floats(Kind::allreduce, 8, 8);
    BOOST_TEST(describe(device_call_of(call)) == "allreduce(max of 8 float32) on devices");
    BOOST_TEST(!(device_call_of(call) == call_of(call)));
}

BOOST_AUTO_TEST_CASE(an_all_to_all_in_place_sends_from_a_copy) {
    auto call = call_of_floats(Kind::all_to_all, 8, 8);
    BOOST_TEST(scratch_bytes(call) == 0u);
    call.in.data = out_memory;
    BOOST_TEST(scratch_bytes(call) == 8 * sizeof(float));
    BOOST_TEST(scratch_bytes({.kind = Kind::allreduce, .in = call.in, .out = call.out}) == 0u);
    auto const steps = device_steps_of(call, {1}, ranks, in_memory);
    BOOST_REQUIRE(steps.size() == 1 + 2u * ranks);
    BOOST_TEST((steps[0].action == DeviceAction::copy));
    BOOST_TEST(steps[0].count == 8u);
    BOOST_TEST(steps[0].in == out_memory);
    BOOST_TEST(steps[0].out == in_memory);
    BOOST_TEST(steps[3].in == in_memory + 2 * sizeof(float));    // sent to rank 1
    BOOST_TEST(steps[4].out == out_memory + 2 * sizeof(float));  // received from rank 1
}

BOOST_AUTO_TEST_SUITE_END()
