// Saving and loading tensors in the memory of devices, with ranks that are threads.
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/foundation/files.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include "device_load.hpp"
#include "fake_device_memory.hpp"
#include "saved_model.hpp"

using namespace det;
using namespace det::checkpoint;

namespace device_tensors_test {

/// Lets threads wait until something has happened, for 30 s.
class Signal {
public:
    void give() {
        std::lock_guard const lock(mutex_);
        is_given_ = true;
        changed_.notify_all();
    }
    bool wait() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(30), [this] { return is_given_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_given_ = false;
};

/// A fake device, which makes the copies in wait().
class FakeDevice final : public tensor::DeviceCopies {
public:
    FakeDeviceMemory memory{std::size_t{256} << 20};
    bool can_pin = true;
    std::atomic<bool> is_broken = false;
    std::vector<std::size_t> copies_together;  // of each start
    int pins = 0, pinned_now = 0;
    std::function<void()> before_copies = [] {};

    bool is_device_memory(void const* at) const override { return memory.holds(at); }
    Result<tensor::PinGuard> pin(std::span<std::byte>) override {
        ++pins;
        if (!can_pin) return Error{codes::transport, "cannot pin memory"};
        ++pinned_now;
        return tensor::PinGuard(this, [this](void*) { --pinned_now; });
    }
    Result<std::unique_ptr<tensor::PendingCopies>> start(
        tensor::CopyDirection, std::span<tensor::DeviceCopy const> copies) override {
        copies_together.push_back(copies.size());
        return std::unique_ptr<tensor::PendingCopies>(std::make_unique<Copies>(*this, copies));
    }

private:
    class Copies final : public tensor::PendingCopies {
    public:
        Copies(FakeDevice& device, std::span<tensor::DeviceCopy const> copies)
            : device_(device), copies_(copies.begin(), copies.end()) {}
        ~Copies() override {
            if (!is_over_) static_cast<void>(wait());
        }
        Status wait() override {
            is_over_ = true;
            device_.before_copies();
            if (device_.is_broken) return Error{codes::transport, "the device fell off the bus"};
            for (auto const& copy : copies_) device_.memory.copy(copy.to, copy.from, copy.size_bytes);
            return Ok{};
        }

    private:
        FakeDevice& device_;
        std::vector<tensor::DeviceCopy> copies_;
        bool is_over_ = false;
    };
};

/// A matrix, of which each rank has some rows, and a bias on the rank's device, a scalar in host memory.
struct Model {
    static constexpr std::uint64_t rows = 61, columns = 301, biases = 500;
    FakeDevice device;
    std::int64_t step = 0;
    Box part;
    std::byte* matrix;
    std::byte* bias;

    Model(int rank, int size) {
        part = rows_of(rank, size, rows, columns);
        matrix = device.memory.take(part.shape[0] * columns * sizeof(float));
        bias = device.memory.take(biases * sizeof(double));
        fill(-1);
    }
    std::vector<float> matrix_of(std::int64_t seed) const {
        std::vector<float> values(part.shape[0] * columns);
        std::iota(values.begin(), values.end(),
                  static_cast<float>(seed) + static_cast<float>(part.begin[0] * columns));
        return values;
    }
    static std::vector<double> bias_of(std::int64_t seed) {
        std::vector<double> values(biases);
        std::iota(values.begin(), values.end(), static_cast<double>(seed));
        return values;
    }
    void fill(std::int64_t seed) {
        auto const values = matrix_of(seed);
        auto const more = bias_of(seed);
        device.memory.copy(matrix, values.data(), values.size() * sizeof(float));
        device.memory.copy(bias, more.data(), more.size() * sizeof(double));
        step = seed;
    }
    bool is_filled(std::int64_t seed) const {
        std::vector<float> values(part.shape[0] * columns);
        std::vector<double> more(biases);
        device.memory.copy(values.data(), matrix, values.size() * sizeof(float));
        device.memory.copy(more.data(), bias, more.size() * sizeof(double));
        return values == matrix_of(seed) && more == bias_of(seed) && step == seed;
    }
    State state() {
        return {NamedTensor::slice("matrix", DataType::float32, {rows, columns}, part, matrix),
                NamedTensor::whole("step", DataType::int64, {}, &step),
                NamedTensor::whole("bias", DataType::float64, {biases}, bias)};
    }
    SaverOptions saver_options() {
        SaverOptions options;
        options.block_size_bytes = 8192;
        options.devices = &device;
        return options;
    }
};

/// Loads through buffers of 8 KiB, so that a load has many parts.
LoadOptions by_small_parts(FakeDevice& device) { return {&device, 8192}; }

using Fixture = StoreFixture<Model>;

}  // namespace device_tensors_test

BOOST_FIXTURE_TEST_SUITE(device_tensors_test, Fixture)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_loads_to_devices_a_save_of_any_other_number) {
    for (int const writers : {1, 3}) {
        auto const uuid = saved(writers, 7);
        must(store.verify_on_disk(uuid));
        for (int const readers : {1, 2, 3}) {
            std::atomic<int> equal = 0;
            as_ranks(readers, [&](ThreadPeers& peers) {
                Model model(peers.rank(), readers);
                must(load(peers, store, {uuid}, model.state(), OnDamage::fail, {&model.device}));
                bool const common_notice_rule = model.is_filled(7);
                model.fill(-1);
                must(load(peers, store, {uuid}, model.state(), OnDamage::fail, by_small_parts(model.device)));
                equal += common_notice_rule && model.is_filled(7) && model.device.pinned_now == 0 ? 1 : 0;
            });
            BOOST_TEST(equal == readers, writers << " wrote, " << readers << " read");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_save_from_a_device_is_loaded_to_the_host_and_to_columns_of_another_device) {
    auto const uuid = saved(2, 5);
    NoPeers alone;
    std::vector<double> bias(Model::biases);
    must(load(alone, store, {uuid},
              {NamedTensor::whole("bias", DataType::float64, {Model::biases}, bias.data())}, OnDamage::fail));
    BOOST_TEST((bias == Model::bias_of(5)));

    FakeDevice device;
    std::vector<float> columns(Model::rows * 2);
    auto* const there = device.memory.take(columns.size() * sizeof(float));
    State const state{NamedTensor::slice("matrix", DataType::float32, {Model::rows, Model::columns},
                                         {{0, 17}, {Model::rows, 2}}, there)};
    must(load(alone, store, {uuid}, state, OnDamage::fail, {&device}));
    device.memory.copy(columns.data(), there, columns.size() * sizeof(float));
    BOOST_TEST(columns.back() == static_cast<float>(5 + (Model::rows - 1) * Model::columns + 18));
    BOOST_TEST(columns[2] == static_cast<float>(5 + Model::columns + 17));
    BOOST_TEST(device.copies_together == std::vector<std::size_t>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(all_device_copies_of_a_save_are_in_flight_together) {
    NoPeers alone;
    Model model(0, 1);
    Saver saver(alone, store, model.saver_options());
    must(saver.save(about(1), model.state()));
    must(saver.finish());
    BOOST_TEST(model.device.copies_together == std::vector<std::size_t>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_is_pinned_once_and_unpinned_by_the_destructor) {
    NoPeers alone;
    Model model(0, 1);
    {
        Saver saver(alone, store, model.saver_options());
        must(saver.prepare(model.state()));
        BOOST_TEST(model.device.pinned_now == 2);  // in_flight_max
        for (std::uint64_t const step : {1u, 2u, 3u}) must(saver.save(about(step), model.state()));
        must(saver.finish());
        BOOST_TEST(model.device.pins == 2);
    }
    BOOST_TEST(model.device.pinned_now == 0);
}

BOOST_AUTO_TEST_CASE(saves_that_do_not_overlap_need_the_memory_of_one) {
    NoPeers alone;
    Model model(0, 1);
    Saver saver(alone, store, model.saver_options());
    for (std::uint64_t const step : {1u, 2u, 3u}) {
        must(saver.save(about(step), model.state()));
        must(saver.finish());
    }
    BOOST_TEST(model.device.pins == 1);
    must(saver.save(about(4), model.state()));
    must(saver.save(about(5), model.state()));  // the fourth is in flight until a later call
    BOOST_TEST(model.device.pins == 2);
    for (auto const& outcome : must(saver.finish())) BOOST_TEST(!outcome.error);
}

BOOST_AUTO_TEST_CASE(nothing_is_pinned_for_a_state_in_host_memory) {
    NoPeers alone;
    Model model(0, 1);
    Saver saver(alone, store, model.saver_options());
    State const state{NamedTensor::whole("step", DataType::int64, {}, &model.step)};
    must(saver.prepare(state));
    must(saver.save(about(1), state));
    must(saver.finish());
    BOOST_TEST(model.device.pins == 0);
    BOOST_TEST(model.device.copies_together.empty());
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_pinned_is_used_unpinned) {
    NoPeers alone;
    Model model(0, 1);
    model.device.can_pin = false;
    std::vector<std::string> warnings;
    auto options = model.saver_options();
    options.on_warning = [&](std::string const& warning) { warnings.push_back(warning); };
    Saver saver(alone, store, options);
    must(saver.prepare(model.state()));
    model.fill(3);
    auto const uuid = must(saver.save(about(3), model.state())).uuid;
    must(saver.finish());
    BOOST_TEST(model.device.pins == 2);  // a save does not pin again
    BOOST_TEST(
        warnings == std::vector<std::string>{"tensors on devices are copied slowly, by way of the driver's "
                                             "memory: cannot pin memory"},
        boost::test_tools::per_element());
    model.fill(-1);
    must(load(alone, store, {uuid}, model.state(), OnDamage::fail, {&model.device}));
    BOOST_TEST(model.is_filled(3));
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_is_an_error_of_that_save_on_all_ranks) {
    std::atomic<int> failed = 0, well = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 2);
        Saver saver(peers, store, model.saver_options());
        model.device.is_broken = peers.rank() == 1;
        must(saver.save(about(1), model.state()));
        for (auto const& outcome : must(saver.finish()))
            failed += outcome.error && outcome.error->message == "the device fell off the bus" ? 1 : 0;
        model.device.is_broken = false;
        must(saver.save(about(2), model.state()));
        for (auto const& outcome : must(saver.finish())) well += outcome.error ? 0 : 1;
    });
    BOOST_TEST(failed == 2);
    BOOST_TEST(well == 2);
    BOOST_TEST(must(store.list()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_during_a_load_is_an_error_on_all_ranks) {
    auto const uuid = saved(2, 1);
    std::atomic<int> failed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 2);
        model.device.is_broken = peers.rank() == 1;
        auto const loaded = load(peers, store, {uuid}, model.state(), OnDamage::take_older, {&model.device});
        failed += !loaded && loaded.error().message == "the device fell off the bus" ? 1 : 0;
    });
    BOOST_TEST(failed == 2);
}

BOOST_AUTO_TEST_CASE(tensors_are_cut_into_batches_of_contiguous_pieces) {
    auto* const memory = reinterpret_cast<std::byte*>(4096);  // never touched
    State const state{
        NamedTensor::whole("a", DataType::uint8, {10}, memory),
        NamedTensor::slice("b", DataType::uint8, {4, 1, 50}, {{3, 0, 10}, {1, 1, 30}}, memory + 100),
        NamedTensor::whole("none", DataType::uint8, {0, 5}, memory),
        NamedTensor::slice("c", DataType::uint8, {9, 7}, {{2, 1}, {5, 6}}, memory + 200),
        NamedTensor::whole("scalar", DataType::float64, {}, memory + 300),
    };
    struct Row {
        std::string name;
        Box part;
        std::ptrdiff_t offset;
        bool operator==(Row const&) const = default;
    };
    std::vector<std::vector<Row>> found;
    for (auto const& batch : cut_into_batches(state, 20)) {
        found.emplace_back();
        for (auto const& piece : batch) found.back().push_back({piece.name, piece.part, piece.data - memory});
    }
    std::vector<std::vector<Row>> const expected{
        {{"a", {{0}, {10}}, 0}},
        {{"b", {{3, 0, 10}, {1, 1, 20}}, 100}},
        {{"b", {{3, 0, 30}, {1, 1, 10}}, 120}},
        {{"c", {{2, 1}, {3, 6}}, 200}},
        {{"c", {{5, 1}, {2, 6}}, 218}, {"scalar", {{}, {}}, 300}},
    };
    BOOST_TEST((found == expected));
    BOOST_TEST(cut_into_batches({state[4]}, 4).size() == 1u);  // an element is not cut
}

BOOST_AUTO_TEST_CASE(the_last_save_writes_while_it_copies_and_a_save_in_training_does_not) {
    NoPeers alone;
    Model model(0, 1);
    Saver saver(alone, store, model.saver_options());
    auto const begun = [&] { return path_exists(directory / "checkpoints"); };
    model.device.before_copies = [&] { BOOST_TEST(!begun()); };
    must(saver.save(about(1), model.state()));
    must(saver.finish());
    std::filesystem::remove_all(directory / "checkpoints");
    model.device.before_copies = [&] {
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!begun() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        BOOST_TEST(begun());
    };
    must(saver.save(about(2), model.state(), TrainingAfterSave::ends));
    must(store.verify_on_disk(must(saver.finish()).at(0).uuid));
}

BOOST_AUTO_TEST_CASE(what_may_be_copied_later_is_copied_while_the_training_continues) {
    NoPeers alone;
    Model model(0, 1);
    Saver saver(alone, store, model.saver_options());
    model.fill(3);
    auto state = model.state();
    state[0].copy_later = true;  // the matrix
    Signal late_copy_may_begin;
    std::atomic<int> batches = 0;
    model.device.before_copies = [&] {  // of the bias first, and of the matrix by a thread
        if (batches++ == 1) BOOST_TEST(late_copy_may_begin.wait());
    };
    auto const uuid = must(saver.save(about(3), state)).uuid;
    BOOST_TEST(model.device.copies_together == (std::vector<std::size_t>{1, 1}),
               boost::test_tools::per_element());
    auto const others = Model::bias_of(-1);
    model.device.memory.copy(model.bias, others.data(), others.size() * sizeof(double));
    model.step = -1;
    late_copy_may_begin.give();
    saver.wait_snapshot();
    model.fill(-1);
    must(saver.finish());
    must(load(alone, store, {uuid}, model.state(), OnDamage::fail, {&model.device}));
    BOOST_TEST(model.is_filled(3));
}

BOOST_AUTO_TEST_CASE(a_late_copy_that_fails_is_an_error_of_that_save_on_all_ranks) {
    std::atomic<int> failed = 0, well = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 2);
        Saver saver(peers, store, model.saver_options());
        auto state = model.state();
        for (auto& tensor : state) tensor.copy_later = true;
        Signal broken;
        model.device.before_copies = [&] { static_cast<void>(broken.wait()); };
        must(saver.save(about(1), state));
        model.device.is_broken = peers.rank() == 1;
        broken.give();
        saver.wait_snapshot();
        for (auto const& outcome : must(saver.finish()))
            failed += outcome.error && outcome.error->message == "the device fell off the bus" ? 1 : 0;
        model.device.is_broken = false;
        must(saver.save(about(2), state));
        for (auto const& outcome : must(saver.finish())) well += outcome.error ? 0 : 1;
    });
    BOOST_TEST(failed == 2);
    BOOST_TEST(well == 2);
}

BOOST_AUTO_TEST_CASE(the_next_save_and_the_destructor_wait_for_late_copies) {
    NoPeers alone;
    Model model(0, 1);
    std::atomic<int> copied = 0;
    model.device.before_copies = [&] {
        std::this_thread::yield();
        ++copied;
    };
    auto state = model.state();
    for (auto& tensor : state) tensor.copy_later = true;
    {
        Saver saver(alone, store, model.saver_options());
        must(saver.save(about(1), state));
        must(saver.save(about(2), state));
        BOOST_TEST(copied >= 1);
        must(saver.save(about(3), state));
    }
    BOOST_TEST(model.device.copies_together == (std::vector<std::size_t>{2, 2, 2}),
               boost::test_tools::per_element());
    BOOST_TEST(copied == 3);
}

BOOST_AUTO_TEST_CASE(writing_begins_with_the_first_batch_that_the_device_has_copied) {
    NoPeers alone;
    FakeDevice device;
    constexpr std::uint64_t large = std::uint64_t{64} << 20, small = 4096;  // a batch, and the next one
    auto* const first = device.memory.take(large);
    device.memory.fill(first, 0x5a, large);
    State state{NamedTensor::whole("a", DataType::uint8, {large}, first),
                NamedTensor::whole("b", DataType::uint8, {small}, device.memory.take(small))};
    for (auto& tensor : state) tensor.copy_later = true;
    SaverOptions options;
    options.devices = &device;
    Saver saver(alone, store, options);
    std::string uuid;
    std::atomic<int> batches = 0;
    Signal has_uuid;
    auto const is_begun = [&] {
        std::ifstream file(directory / "checkpoints" / uuid / "rank-00000.safetensors.tmp", std::ios::binary);
        return file.seekg(1 << 20) && file.get() == 0x5a;
    };
    device.before_copies = [&] {
        if (batches++ == 0) return;
        BOOST_TEST(has_uuid.wait());
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!is_begun() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
        BOOST_TEST(is_begun());
    };
    uuid = must(saver.save(about(1), state)).uuid;
    has_uuid.give();
    saver.wait_snapshot();
    BOOST_TEST(batches == 2);
    must(store.verify_on_disk(must(saver.finish()).at(0).uuid));
}

BOOST_AUTO_TEST_CASE(tensors_on_devices_are_kept_in_memory_before_the_call_returns) {
    TemporaryDirectory shm;
    auto const options_of = [&](ThreadPeers const& peers, std::uint32_t run) {
        MemorySnapshotOptions options;
        options.place = {shm.path(), "100", "7.3", ""};
        options.run = run;
        options.is_first_of_node = peers.is_chief();
        return options;
    };
    as_ranks(2, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 2);
        MemorySnapshots snapshots(peers, options_of(peers, 1));
        snapshots.use_devices(&model.device);
        model.fill(7);
        auto state = model.state();
        for (auto& tensor : state) tensor.copy_later = true;
        must_be(must(snapshots.keep(10, Json::object(), state)), "the step is kept");
        model.fill(-1);
    });
    for (int const readers : {2, 3}) {
        std::atomic<int> equal = 0;
        as_ranks(readers, [&](ThreadPeers& peers) {
            Model model(peers.rank(), readers);
            MemorySnapshots snapshots(peers, options_of(peers, 2));
            snapshots.use_devices(&model.device);
            bool const is_loaded = must(snapshots.load(model.state(), 0)).has_value();
            equal += is_loaded && model.is_filled(7) ? 1 : 0;
        });
        BOOST_TEST(equal == readers);
    }
}

BOOST_AUTO_TEST_SUITE_END()
