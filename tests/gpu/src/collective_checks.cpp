#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

#include "checks.hpp"
#include "elements.hpp"
#include "library.hpp"
#include "rows.hpp"

namespace det::gpu {
namespace {

struct ReduceOperation {
    char const* name;
    det_reduce_op op;
};
constexpr ReduceOperation reduce_operations[] = {{"sum", DET_REDUCE_SUM},
                                                 {"mean", DET_REDUCE_MEAN},
                                                 {"min", DET_REDUCE_MIN},
                                                 {"max", DET_REDUCE_MAX},
                                                 {"prod", DET_REDUCE_PROD}};

/// Input and output of a collective of one rank, whose result is the input.
class Buffers {
public:
    Buffers(Driver const& driver, ElementType const& type, std::size_t count)
        : elements_(make_elements(type, count)), in_(driver, elements_), out_(driver, elements_.size()) {}

    void* in() const { return in_.data(); }
    void* out() const { return out_.data(); }
    void clear() const { out_.fill(0xa5); }
    void set() const { out_.write(elements_); }
    void check(std::string const& what) const {
        require(out_.read() == elements_, what + " has written wrong elements");
    }

private:
    std::vector<std::byte> elements_;
    DeviceMemory in_, out_;
};

/// Every collective with one type and one number of elements. Returns the number of comparisons.
int check_type(Driver const& driver, det_context* context, ElementType const& type, std::size_t count) {
    Buffers const buffers(driver, type, count);
    auto* const in = buffers.in();
    auto* const out = buffers.out();
    auto const where = fmt::format(" of {} {}", count, type.name);
    int checked = 0;
    auto const out_of_place = [&](std::string const& what, auto const& call) {
        buffers.clear();
        must(call());
        buffers.check(what + where);
        ++checked;
    };
    auto const in_place = [&](std::string const& what, auto const& call) {
        buffers.set();
        must(call());
        buffers.check(what + where + " in place");
        ++checked;
    };
    auto const dtype = type.dtype;
    for (auto const& [name, op] : reduce_operations) {
        if (op == DET_REDUCE_MEAN && type.is_integer) {
            must_fail(det_distributed_allreduce(context, in, out, count, dtype, op), "misuse", "mean");
            ++checked;
            continue;
        }
        auto const words = std::string("the ") + name + " of all ranks";
        out_of_place(words,
                     [&, op = op] { return det_distributed_allreduce(context, in, out, count, dtype, op); });
        in_place(words,
                 [&, op = op] { return det_distributed_allreduce(context, out, out, count, dtype, op); });
        out_of_place(words + " on one",
                     [&, op = op] { return det_distributed_reduce(context, in, out, count, dtype, op, 0); });
        out_of_place(words + " in parts", [&, op = op] {
            return det_distributed_reduce_scatter(context, in, out, count, dtype, op);
        });
    }
    out_of_place("allgather", [&] { return det_distributed_allgather(context, in, out, count, dtype); });
    out_of_place("all_to_all", [&] { return det_distributed_all_to_all(context, in, out, count, dtype); });
    in_place("all_to_all", [&] { return det_distributed_all_to_all(context, out, out, count, dtype); });
    in_place("broadcast", [&] { return det_distributed_broadcast(context, out, count, dtype, 0); });
    return checked;
}

Figure check_values(Driver const& driver) {
    Context context;
    int checked = 0;
    constexpr std::size_t counts[] = {1, 3, 1000, 262'145, 4'194'309};
    for (auto const& type : element_types) {
        for (auto const count : counts) {
            if (count * type.size_bytes > driver.free_bytes() / 8) continue;
            checked += check_type(driver, context, type, count);
        }
    }
    context.close();
    return {static_cast<double>(checked), "comparisons", std::nullopt, ""};
}

std::optional<Figure> check_many_elements(Driver const& driver) {
    auto const wanted = (std::size_t{1} << 31) + 7;
    auto const count = std::min(wanted, driver.free_bytes() / 4);
    Context context;
    DeviceMemory const in(driver, count), out(driver, count);
    in.fill(0x5a);
    out.fill(0);
    must(det_distributed_allreduce(context, in.data(), out.data(), count, DET_U8, DET_REDUCE_SUM));
    std::array<std::byte, 8> end{};
    driver.must(driver.functions().to_host(end.data(), out.address() + count - end.size(), end.size()),
                "copy to the host");
    auto const is_summed = [](std::byte value) { return value == std::byte{0x5a}; };
    require(std::all_of(end.begin(), end.end(), is_summed), "the last elements are wrong");
    context.close();
    return Figure{static_cast<double>(count), "elements", std::nullopt,
                  count < wanted ? "fewer than 2^31: the device has too little memory" : ""};
}

/// A collective sees what its stream has written, and the event of its operation orders other streams.
std::optional<Figure> check_streams(Driver const& driver) {
    auto const& cuda = driver.functions();
    auto const size = std::min(std::size_t{64} << 20, driver.free_bytes() / 8) / 4 * 4;
    auto const count = size / 4;
    Context context;
    DeviceStream const stream(driver), other(driver);
    DeviceMemory const in(driver, size), out(driver, size);
    PinnedMemory const source(driver, size), back(driver, size);
    for (std::size_t i = 0; i < size; ++i) source.data()[i] = static_cast<std::byte>(i % 120);
    must(det_distributed_use_stream(context, stream.get()));
    for (int round = 0; round < 10; ++round) {
        std::fill_n(back.data(), size, std::byte{0});
        in.fill(0);
        out.fill(0xee);
        driver.must(cuda.to_device_async(in.address(), source.data(), size, stream.get()),
                    "copy to the device");
        det_operation* operation = nullptr;
        must(det_distributed_start_allreduce(context, in.data(), out.data(), count, DET_I32, DET_REDUCE_SUM,
                                             &operation));
        void* event = nullptr;
        must(det_operation_event(operation, &event));
        driver.must(cuda.stream_wait_event(other.get(), static_cast<CUevent>(event), 0), "wait for an event");
        driver.must(cuda.to_host_async(back.data(), out.address(), size, other.get()), "copy to the host");
        other.synchronize();
        must(det_operation_wait(operation));
        det_operation_destroy(operation);
        require(std::equal(back.data(), back.data() + size, source.data()),
                "a stream did not wait for another");
    }
    context.close();
    return std::nullopt;
}

std::optional<Figure> check_operations_in_flight(Driver const& driver) {
    Context context;
    auto const& type = element_types[3];
    Buffers const buffers(driver, type, 1000);
    buffers.clear();
    std::vector<det_operation*> operations(64);
    for (auto& operation : operations)
        must(det_distributed_start_allreduce(context, buffers.in(), buffers.out(), 1000, type.dtype,
                                             DET_REDUCE_SUM, &operation));
    std::for_each(operations.rbegin(), operations.rend(), [](det_operation* operation) {
        must(det_operation_wait(operation));
        det_operation_destroy(operation);
    });
    buffers.check("64 operations at a time");
    context.close();
    return std::nullopt;
}

/// Work on a stream that is captured into a graph is refused, and the context stays usable.
std::optional<Figure> check_capture(Driver const& driver) {
    auto const& cuda = driver.functions();
    Context context;
    auto const& type = element_types[3];
    Buffers const buffers(driver, type, 1000);
    DeviceStream const captured(driver), other(driver);
    auto const reduce = [&] {
        return det_distributed_allreduce(context, buffers.in(), buffers.out(), 1000, type.dtype,
                                         DET_REDUCE_SUM);
    };
    must(det_distributed_use_stream(context, captured.get()));
    must(reduce());
    driver.must(cuda.begin_capture(captured.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin a capture");
    must_fail(reduce(), "misuse", "the stream is captured into a graph");
    must(det_distributed_use_stream(context, other.get()));
    must(reduce());
    CUgraph graph = nullptr;
    driver.must(cuda.end_capture(captured.get(), &graph),
                "end the capture, which a refused call has disturbed");
    if (graph != nullptr) driver.must(cuda.graph_destroy(graph), "destroy a graph");
    buffers.clear();
    must(det_distributed_use_stream(context, captured.get()));
    must(reduce());
    buffers.check("a collective after the capture");
    context.close();
    return std::nullopt;
}

/// Which memory a collective accepts.
std::optional<Figure> check_memory(Driver const& driver) {
    Context context;
    auto const& type = element_types[3];
    Buffers const buffers(driver, type, 4);
    std::array<float, 4> host{1, 2, 3, 4};
    PinnedMemory const pinned(driver, sizeof host);
    std::memcpy(pinned.data(), host.data(), sizeof host);
    auto const reduce = [&](void const* in, void* out) {
        return det_distributed_allreduce(context, in, out, 4, type.dtype, DET_REDUCE_SUM);
    };
    must_fail(reduce(host.data(), buffers.out()), "misuse", "device");
    must_fail(reduce(pinned.data(), buffers.out()), "misuse", "device");
    must(reduce(host.data(), host.data()));
    must(reduce(pinned.data(), pinned.data()));
    require(std::memcmp(pinned.data(), host.data(), sizeof host) == 0, "pinned memory has wrong elements");
    must_fail(det_distributed_allreduce(context, buffers.in(), buffers.out(), 4, DET_I8, DET_REDUCE_SUM),
              "misuse", "");
    must(reduce(buffers.in(), buffers.out()));
    buffers.check("a collective after refused ones");
    context.close();
    return std::nullopt;
}

double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The time of an allreduce out of place, compared with a copy on the device and a wait for it.
Figure compare_with_copy(Driver const& driver, std::size_t wanted_bytes, std::optional<double> mark) {
    auto const& cuda = driver.functions();
    auto const size = std::min(wanted_bytes, driver.free_bytes() / 8) / 4 * 4;
    Context context;
    DeviceMemory const in(driver, size), out(driver, size);
    std::vector<double> ours, copies;
    constexpr int warm_up = 5, rounds = 50;
    for (int round = 0; round < warm_up + rounds; ++round) {
        auto const reduced = seconds_of([&] {
            must(
                det_distributed_allreduce(context, in.data(), out.data(), size / 4, DET_F32, DET_REDUCE_SUM));
        });
        auto const copied = seconds_of([&] {
            driver.must(cuda.copy_async(out.address(), in.address(), size, nullptr), "copy on the device");
            driver.must(cuda.stream_synchronize(nullptr), "wait for the default stream");
        });
        if (round < warm_up) continue;
        ours.push_back(reduced);
        copies.push_back(copied);
    }
    context.close();
    auto const mine = median(ours), peer = median(copies);
    return {mine / peer, "x", mark,
            fmt::format("{} B: {:.1f} us, copy {:.1f} us", size, 1e6 * mine, 1e6 * peer)};
}

}  // namespace

void check_collectives(Driver const& driver) {
    run_row("collectives-values", [&] { return check_values(driver); });
    run_row("collectives-many-elements", [&] { return check_many_elements(driver); });
    run_row("collectives-streams", [&] { return check_streams(driver); });
    run_row("collectives-in-flight", [&] { return check_operations_in_flight(driver); });
    run_row("collectives-capture", [&] { return check_capture(driver); });
    run_row("collectives-memory", [&] { return check_memory(driver); });
    run_row("allreduce-4B", [&] { return compare_with_copy(driver, 4, std::nullopt); });
    run_row("allreduce-128MiB", [&] { return compare_with_copy(driver, std::size_t{128} << 20, 1.1); });
}

}  // namespace det::gpu
