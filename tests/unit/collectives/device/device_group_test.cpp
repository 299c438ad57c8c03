// Ranks with devices, as threads. The devices are fake, but they do the work.
#include <atomic>
#include <boost/test/unit_test.hpp>

#include "../collective_cases.hpp"
#include "device_ranks.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::collectives::device;
using transport::check_ranks;

namespace device_group_test {

constexpr std::size_t count = 8;

/// Memory that counts as device memory in a test.
struct DeviceMemory {
    std::vector<float> values = std::vector<float>(count);
    Tensor tensor() { return Tensor::of(std::span(values)); }
};

}  // namespace device_group_test

BOOST_AUTO_TEST_SUITE(device_group_test)

BOOST_AUTO_TEST_CASE(all_cases_of_host_memory_hold_on_devices) {
    auto const seed = test_seed();
    for (int const ranks : {1, 2, 3, 5}) {
        for (auto const& host : {MakeHost(by_messages), MakeHost(by_two_levels)}) {
            FakeDevices devices(ranks);
            check_ranks(run_devices(
                ranks, devices, [&](DistributedContext& context) { return run_all_cases(context, seed); }, {},
                host));
            BOOST_TEST(devices.ids_made() == 1);
            for (int rank = 0; rank < ranks; ++rank) {
                BOOST_TEST(devices.has_finished(rank));
                BOOST_TEST(!devices.streams_of(rank).empty());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(host_memory_needs_no_devices) {
    FakeDevices devices(2);
    devices.is_device_memory = [](void const*) { return false; };
    auto const seed = test_seed();
    check_ranks(
        run_devices(2, devices, [&](DistributedContext& context) { return run_all_cases(context, seed); }));
    BOOST_TEST(devices.ids_made() == 0);
}

BOOST_AUTO_TEST_CASE(parts_are_exchanged_between_devices) {
    constexpr int ranks = 3;
    FakeDevices devices(ranks);
    check_ranks(run_devices(ranks, devices, [](DistributedContext& context) -> Status {
        std::vector<std::int32_t> in(2 * ranks), out(2 * ranks);
        for (std::size_t i = 0; i < in.size(); ++i)
            in[i] = context.rank().value * 100 + static_cast<std::int32_t>(i);
        auto const from = ConstTensor::of(std::span<std::int32_t const>(in));
        DET_TRY(context.all_to_all(from, Tensor::of(std::span(out))));
        int const own = 2 * context.rank().value;
        DET_TRY(
            expect(out == std::vector<std::int32_t>{own, own + 1, 100 + own, 101 + own, 200 + own, 201 + own},
                   "this rank's part of each"));
        // Some ranks may call in place while others do not.
        auto* const into = context.is_chief() ? &out : &in;
        auto const expected = out;
        DET_TRY(context.all_to_all(from, Tensor::of(std::span(*into))));
        return expect(*into == expected, "the same in place");
    }));
}

BOOST_AUTO_TEST_CASE(some_of_the_ranks_use_devices_of_their_own_group) {
    // Two nodes of two ranks. The fake devices of a subset are connected only with each other.
    for (auto const of : {&DistributedContext::local_ranks, &DistributedContext::cross_ranks}) {
        bool const is_local = of == &DistributedContext::local_ranks;
        FakeDevices devices[2] = {FakeDevices(2), FakeDevices(2)};
        std::vector<std::unique_ptr<Transport>> nodes[2];
        for (auto& node : nodes) node = transport::make_thread_transports(2);
        check_ranks(run_ranks(4, [&](std::unique_ptr<Transport> transport) -> Status {
            int const rank = transport->rank().value, node = rank / 2, local_rank = rank % 2;
            Topology const topology{local_rank, 2, node, 2};
            auto backend = std::make_shared<FakeBackend>(devices[is_local ? node : local_rank],
                                                         is_local ? local_rank : node);
            DET_TRY_ASSIGN(auto made,
                           by_messages(std::move(nodes[node][static_cast<std::size_t>(local_rank)])));
            std::shared_ptr<RankGroup> const local(std::move(made));
            DET_TRY_ASSIGN(auto all, make_two_level(std::move(transport), local, topology));
            DET_TRY_ASSIGN(auto context,
                           DistributedContext::make(make_device_group(std::move(all), std::move(backend)),
                                                    topology, local));
            DET_TRY_ASSIGN(auto part, (context.*of)());
            std::vector<float> values(8, static_cast<float>(rank));
            DET_TRY(part.allreduce(std::span(values), ReduceOp::sum));
            int const sum = is_local ? 4 * node + 1 : 2 * local_rank + 2;
            DET_TRY(expect(values[7] == static_cast<float>(sum), fmt::format("{}, not {}", sum, values[7])));
            auto const differs =
                part.rank() == Rank{0} ? part.barrier() : part.allreduce(std::span(values), ReduceOp::sum);
            int const first = is_local ? 2 * node : local_rank, second = first + (is_local ? 1 : 2);
            auto const called = fmt::format("rank {} called barrier()", first);
            DET_TRY(expect_words(differs, {called, fmt::format("rank {} called allreduce", second)}));
            return context.barrier();
        }));
        for (auto& each : devices) BOOST_TEST(each.streams_of(0).size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_handle_is_complete_when_its_event_has_passed_and_not_before) {
    FakeDevices devices(2);
    check_ranks(run_devices(2, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory first, second;
        std::ranges::fill(first.values, 1.0F);
        std::ranges::fill(second.values, 2.0F);
        if (context.is_chief()) devices.hold();
        DET_TRY(context.barrier());
        auto one = context.start_allreduce(first.tensor(), ReduceOp::sum);
        auto two = context.start_allreduce(second.tensor(), ReduceOp::sum);
        for (int i = 0; i < 10; ++i) {
            DET_TRY_ASSIGN(bool const is_over, one.test());
            DET_TRY(expect(!is_over && first.values[0] == 1.0F, "nothing to have been done"));
        }
        DET_TRY(expect(one.event() != nullptr && one.event() != two.event(), "events to wait for"));
        DET_TRY(context.barrier());
        if (context.is_chief()) devices.release();
        DET_TRY(two.wait());
        DET_TRY(one.wait());
        return expect(first.values[0] == 2.0F && second.values[0] == 4.0F, "both sums");
    }));
}

BOOST_AUTO_TEST_CASE(work_goes_to_the_stream_that_was_named_last) {
    FakeDevices devices(2);
    int stream = 0, other_stream = 0;
    check_ranks(run_devices(2, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory memory;
        DET_TRY(context.use_stream(&stream));
        DET_TRY(context.allreduce(memory.tensor(), ReduceOp::sum));
        DET_TRY(context.use_stream(&other_stream));
        DET_TRY(context.broadcast(memory.tensor()));
        DET_TRY(context.use_stream(nullptr));
        return context.allreduce(memory.tensor(), ReduceOp::sum);
    }));
    for (int const rank : {0, 1})
        BOOST_TEST((devices.streams_of(rank) == std::vector<Stream>{&stream, &other_stream, nullptr}));
}

BOOST_AUTO_TEST_CASE(ranks_without_devices_have_no_streams) {
    auto single = DistributedContext::single();
    BOOST_TEST((single.use_stream(nullptr).error().code == codes::misuse));
    check_ranks(run_ranks(2, [](auto transport) -> Status {
        Topology const topology{transport->rank().value, transport->size()};
        DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(transport), topology));
        return expect(!context.use_stream(nullptr), "an error");
    }));
}

BOOST_AUTO_TEST_CASE(host_and_device_memory_do_not_mix) {
    static thread_local std::vector<float> const* of_device = nullptr;
    FakeDevices devices(2);
    devices.is_device_memory = [](void const* memory) {
        return of_device != nullptr && memory == of_device->data();
    };
    check_ranks(run_devices(2, devices, [](DistributedContext& context) -> Status {
        DeviceMemory memory;
        std::vector<float> on_host(count);
        of_device = &memory.values;
        // Within a rank.
        auto const in_one =
            context.rank().value == 0
                ? context.allreduce(memory.tensor(), ReduceOp::sum)
                : context.allreduce(memory.tensor(), Tensor::of(std::span(on_host)), ReduceOp::sum);
        DET_TRY(expect_words(in_one, {"rank 1: one buffer is memory of a device and the other of the host"}));
        // Between ranks.
        auto const between = context.allreduce(
            context.rank().value == 0 ? memory.tensor() : Tensor::of(std::span(on_host)), ReduceOp::sum);
        DET_TRY(
            expect_words(between, {"rank 0 called allreduce(sum of 8 float32) on devices and rank 1 called "
                                   "allreduce(sum of 8 float32), each as its operation 2"}));
        // The group still works.
        return context.allreduce(memory.tensor(), ReduceOp::sum);
    }));
}

BOOST_AUTO_TEST_CASE(a_call_while_one_rank_captures_its_stream_is_refused_on_all) {
    FakeDevices devices(2);
    int captured = 0;
    devices.is_capturing = [&](int rank, Stream stream) { return rank == 1 && stream == &captured; };
    check_ranks(run_devices(2, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory memory;
        DET_TRY(context.use_stream(&captured));
        auto const refused = context.allreduce(memory.tensor(), ReduceOp::sum);
        DET_TRY(expect_words(refused, {"rank 1: the stream is captured into a graph"}));
        DET_TRY(expect(refused.error().code == codes::misuse, "a misuse"));
        DET_TRY(context.use_stream(nullptr));
        return context.allreduce(memory.tensor(), ReduceOp::sum);
    }));
    for (int const rank : {0, 1}) BOOST_TEST(devices.has_finished(rank));
}

BOOST_AUTO_TEST_CASE(a_lost_rank_ends_operations_in_progress_and_all_that_follow) {
    FakeDevices devices(3);
    devices.hold();
    std::atomic<int> begun = 0;
    auto const results = run_devices(3, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory memory;
        auto handle = context.start_allreduce(memory.tensor(), ReduceOp::sum);
        ++begun;
        if (context.rank().value == 1) {
            while (begun < 3) std::this_thread::yield();
            context.abandon();
            return expect(!handle.wait(), "an error for who has left");
        }
        auto const words = fmt::format(
            "; rank {} was in allreduce(sum of 8 float32) on devices, its operation 1", context.rank().value);
        DET_TRY(expect_words(handle.wait(), {"rank 1 has left", words}));
        return expect_words(context.allreduce(memory.tensor(), ReduceOp::sum), {"rank 1 has left", words});
    });
    BOOST_TEST(results[1].has_value());
    // The rank that notices the loss first leaves too, so the other one may report that rank.
    BOOST_TEST((results[0].has_value() || results[2].has_value()));
    for (int rank = 0; rank < 3; ++rank) BOOST_TEST(devices.was_aborted(rank));
}

BOOST_AUTO_TEST_CASE(a_device_failure_is_an_error_that_names_the_operation) {
    FakeDevices devices(2);
    auto const results = run_devices(2, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory memory;
        DET_TRY(context.allreduce(memory.tensor(), ReduceOp::sum));
        devices.hold();
        auto handle = context.start_allreduce(memory.tensor(), ReduceOp::max);
        DET_TRY(context.barrier());
        for (int const rank : {0, 1}) devices.break_device(rank);
        return expect_words(handle.wait(), {"cannot use the devices: it broke; rank ",
                                            "was in allreduce(max of 8 float32) on devices, its operation "});
    });
    check_ranks(results);
    for (int const rank : {0, 1}) BOOST_TEST(devices.was_aborted(rank));
}

BOOST_AUTO_TEST_CASE(a_rank_without_the_library_is_an_error_on_all_ranks_and_copies_go_on) {
    FakeDevices devices(2);
    devices.rank_without_library = 1;
    check_ranks(run_devices(2, devices, [&](DistributedContext& context) -> Status {
        DeviceMemory memory;
        auto const result = context.allreduce(memory.tensor(), ReduceOp::sum);
        DET_TRY(expect(!result && result.error().code == codes::transport, "an error of the library"));
        DET_TRY(expect_words(result, {"cannot use 'libnccl.so.2'"}));
        std::byte here{}, there{};
        tensor::DeviceCopy const out[] = {{&here, &there, 1}};
        DET_TRY_ASSIGN(auto const pending,
                       context.device_copies()->start(tensor::CopyDirection::to_host, out));
        DET_TRY(pending->wait());
        return context.barrier();
    }));
}

BOOST_AUTO_TEST_CASE(a_long_wait_warns_once_and_is_an_error_only_on_request) {
    FakeDevices devices(2);
    std::mutex mutex;
    std::vector<std::string> warnings;
    liveness::WaitPolicy waits;
    waits.long_wait = std::chrono::milliseconds(0);
    waits.timeout = std::chrono::milliseconds(200);
    waits.on_long_wait = [&](std::string const& warning) {
        std::lock_guard const lock(mutex);
        warnings.push_back(warning);
    };
    auto const results = run_devices(
        2, devices,
        [&](DistributedContext& context) -> Status {
            if (context.rank().value == 1) devices.hold();
            DET_TRY(context.barrier());
            DeviceMemory memory;
            auto const result = context.allreduce(memory.tensor(), ReduceOp::sum);
            DET_TRY(expect(!result && result.error().code == codes::timed_out, "a timeout"));
            DET_TRY(context.barrier());
            return expect_words(result, {"has waited for devices in allreduce(sum of 8 float32) on devices"});
        },
        waits);
    check_ranks(results);
    bool const is_told = std::ranges::any_of(warnings, [](std::string const& warning) {
        return warning.starts_with(
                   "rank 0 has waited for devices in allreduce(sum of 8 float32) on devices") &&
               warning.ends_with("; all ranks are alive");
    });
    BOOST_TEST(is_told);
}

BOOST_AUTO_TEST_SUITE_END()
