#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <thread>

#include "checks.hpp"
#include "elements.hpp"
#include "library.hpp"
#include "rows.hpp"

namespace det::gpu {
namespace {

namespace fs = std::filesystem;

/// A directory for checkpoints in $DET_GPU_STORAGE, which is removed.
class Storage {
public:
    Storage() {
        auto const* const root = std::getenv("DET_GPU_STORAGE");
        path_ = fs::path(root != nullptr ? root : ".") / "checkpoints";
        fs::remove_all(path_);
    }
    Storage(Storage const&) = delete;
    Storage& operator=(Storage const&) = delete;
    ~Storage() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

/// Tensors on the device, and the det_state that has them.
class State {
public:
    State() { must(det_state_create(&state_)); }
    State(State const&) = delete;
    State& operator=(State const&) = delete;
    ~State() { det_state_destroy(state_); }

    operator det_state*() const { return state_; }
    /// Tensors that are added afterwards may be copied after the save has returned.
    void copy_later() { copy_later_ = 1; }
    /// \param begin  position of the part of the tensor that `memory` holds
    void add(std::string const& name, DeviceMemory const& memory, det_dtype dtype,
             std::vector<std::uint64_t> const& shape, std::vector<std::uint64_t> const& begin = {},
             std::vector<std::uint64_t> const& part = {}) {
        det_tensor tensor = DET_TENSOR_INIT;
        tensor.copy_later = copy_later_;
        tensor.name = name.c_str();
        tensor.data = memory.data();
        tensor.dtype = dtype;
        tensor.dimensions = static_cast<std::uint32_t>(shape.size());
        tensor.shape = shape.data();
        if (!begin.empty()) {
            tensor.begin = begin.data();
            tensor.part_shape = part.data();
        }
        must(det_state_add(state_, &tensor));
    }

private:
    det_state* state_ = nullptr;
    std::int32_t copy_later_ = 0;
};

std::string save(det_context* context, det_state* state, std::uint64_t steps) {
    det_save_started started = DET_SAVE_STARTED_INIT;
    must(det_checkpoint_save(context, steps, nullptr, state, &started));
    return started.uuid;
}

/// The elements of a checkpoint are those of the moment of the save, for each type. Parts can be loaded.
std::optional<Figure> check_bits(Driver const& driver) {
    Storage const storage;
    Context context(storage.path());
    constexpr std::size_t rows = 100, columns = 997;
    State state;
    std::vector<std::unique_ptr<DeviceMemory>> memory;
    std::vector<std::vector<std::byte>> elements;
    auto const is_late = [](std::size_t type) { return type >= std::size(element_types) / 2; };
    for (auto const& type : element_types) {
        elements.push_back(make_elements(type, rows * columns));
        memory.push_back(std::make_unique<DeviceMemory>(driver, elements.back()));
        if (is_late(memory.size() - 1)) state.copy_later();
        state.add(type.name, *memory.back(), type.dtype, {rows, columns});
    }
    std::string uuid;
    for (std::uint64_t steps = 1; steps <= 3; ++steps) {
        uuid = save(context, state, steps);
        for (std::size_t i = 0; i < memory.size(); ++i) {
            if (is_late(i)) must(det_checkpoint_wait_snapshot(context));
            memory[i]->fill(0xa5);  // while the copy is written
        }
        if (steps == 3) break;
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i]->write(elements[i]);
    }
    must(det_checkpoint_finish(context, nullptr));
    require(load(context, uuid, state) == 3, "the checkpoint has another number of steps");
    for (std::size_t i = 0; i < memory.size(); ++i)
        require(memory[i]->read() == elements[i], fmt::format("{} differs", element_types[i].name));

    State part;
    auto const& type = element_types[0];  // of one byte
    DeviceMemory const some(driver, 10 * (columns - 3));
    part.add(type.name, some, type.dtype, {rows, columns}, {20, 3}, {10, columns - 3});
    load(context, uuid, part);
    auto const read = some.read();
    for (std::size_t row = 0; row < 10; ++row) {
        auto const* const whole = &elements[0][(20 + row) * columns + 3];
        require(std::equal(whole, whole + columns - 3, &read[row * (columns - 3)]), "a part differs");
    }
    context.close();
    return std::nullopt;
}

/// The state of the figures: tensors of the same size, 8 GiB in total or what fits.
class LargeState {
public:
    explicit LargeState(Driver const& driver) : driver_(driver) {
        late_state_.copy_later();
        constexpr std::size_t tensors = 200, alignment = 4096;
        auto const* const given = std::getenv("DET_GPU_STATE_BYTES");
        auto const wanted = given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{8} << 30;
        auto const total = std::min<std::size_t>(wanted, driver.free_bytes() / 3);
        auto const each = std::max<std::size_t>(total / tensors / alignment * alignment, alignment);
        for (std::size_t i = 0; i < tensors; ++i) {
            memory_.push_back(std::make_unique<DeviceMemory>(driver, each));
            memory_.back()->fill(static_cast<unsigned char>(i));
            for (auto* const state : {&state_, &late_state_})
                state->add(fmt::format("layer.{}", i), *memory_.back(), DET_F32, {each / 4});
        }
    }
    det_state* state() const { return state_; }
    /// The same tensors, which may be copied after the save has returned.
    det_state* late_state() const { return late_state_; }
    std::size_t size_bytes() const { return memory_.size() * memory_.front()->size_bytes(); }
    void clear() const {
        for (auto const& each : memory_) each->fill(0xff);
    }
    bool is_right() const {
        for (std::size_t i = 0; i < memory_.size(); ++i) {
            auto const content = memory_[i]->read();
            bool const is_uniform = std::memcmp(content.data(), &content[1], content.size() - 1) == 0;
            if (!is_uniform || content[0] != static_cast<std::byte>(i)) return false;
        }
        return true;
    }
    /// Copies all tensors to pinned memory, and waits.
    void copy_to(PinnedMemory const& pinned) const {
        auto* to = pinned.data();
        for (auto const& each : memory_) {
            driver_.must(driver_.functions().to_host_async(to, each->address(), each->size_bytes(), nullptr),
                         "copy to the host");
            to += each->size_bytes();
        }
        driver_.must(driver_.functions().stream_synchronize(nullptr), "wait for the default stream");
    }

private:
    Driver const& driver_;
    std::vector<std::unique_ptr<DeviceMemory>> memory_;
    State state_, late_state_;
};

double gib(double bytes) { return bytes / static_cast<double>(1U << 30); }

/// What a save adds to a step in which the program computes for 200 ms. Here it sleeps, because the driver
/// alone has no work for a device that takes so long and leaves its memory alone.
std::optional<Figure> measure_overlap(det_context* context, LargeState const& large) {
    constexpr std::chrono::milliseconds computing(200);
    std::vector<double> added, waited;
    for (std::uint64_t steps = 11; steps <= 13; ++steps) {
        auto const blocked = seconds_of([&] { save(context, large.late_state(), steps); });
        std::this_thread::sleep_for(computing);
        waited.push_back(seconds_of([&] { must(det_checkpoint_wait_snapshot(context)); }));
        added.push_back(blocked + waited.back());
        must(det_checkpoint_finish(context, nullptr));
    }
    std::sort(added.begin(), added.end());
    std::sort(waited.begin(), waited.end());
    return Figure{1e3 * added[1], "ms", 25,
                  fmt::format("{:.2f} GiB: added to a step of 200 ms, of which {:.1f} ms at its end",
                              gib(static_cast<double>(large.size_bytes())), 1e3 * waited[1])};
}

/// How long a save blocks the program, compared with plain copies to pinned memory; and the rate of a load.
void measure_saves(Driver const& driver) {
    std::unique_ptr<LargeState> large;
    Storage const storage;
    std::unique_ptr<Context> context;
    std::string uuid;
    double commit = 0;
    run_row("checkpoint-save", [&]() -> std::optional<Figure> {
        large = std::make_unique<LargeState>(driver);
        context = std::make_unique<Context>(storage.path());
        auto const prepared = seconds_of([&] { must(det_checkpoint_prepare(*context, large->state())); });
        PinnedMemory const pinned(driver, large->size_bytes());
        large->copy_to(pinned);
        std::vector<double> blocked, copies;
        for (std::uint64_t steps = 1; steps <= 3; ++steps) {
            copies.push_back(seconds_of([&] { large->copy_to(pinned); }));
            blocked.push_back(seconds_of([&] { uuid = save(*context, large->state(), steps); }));
            commit = seconds_of([&] { must(det_checkpoint_finish(*context, nullptr)); }) + blocked.back();
            for (auto const& entry : fs::directory_iterator(storage.path()))
                if (entry.path().filename() != uuid) fs::remove_all(entry.path());
        }
        std::sort(blocked.begin(), blocked.end());
        std::sort(copies.begin(), copies.end());
        return Figure{
            blocked[1] / copies[1], "x", 1.1,
            fmt::format("{:.2f} GiB: blocked {:.1f} ms, pinned copies {:.1f} ms, committed after {:.2f} s, "
                        "prepared in {:.2f} s",
                        gib(static_cast<double>(large->size_bytes())), 1e3 * blocked[1], 1e3 * copies[1],
                        commit, prepared)};
    });
    run_row("checkpoint-overlap", [&] {
        require(!uuid.empty(), "nothing was saved");
        auto const figure = measure_overlap(*context, *large);
        for (auto const& entry : fs::directory_iterator(storage.path()))
            if (entry.path().filename() != uuid) fs::remove_all(entry.path());
        return figure;
    });
    run_row("checkpoint-load", [&]() -> std::optional<Figure> {
        require(!uuid.empty(), "nothing was saved");
        large->clear();
        auto const seconds = seconds_of([&] { load(*context, uuid, large->state()); });
        require(large->is_right(), "the loaded tensors differ");
        context->close();
        return Figure{gib(static_cast<double>(large->size_bytes())) / seconds, "GiB/s", std::nullopt, ""};
    });
}

}  // namespace

void check_checkpoints(Driver const& driver) {
    run_row("checkpoint-bits", [&] { return check_bits(driver); });
    measure_saves(driver);
}

}  // namespace det::gpu
