#include <det/foundation/allocate_file.hpp>
#include <det/foundation/files.hpp>
#include <det/liveness/wait_page.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace det::liveness {

/// Version 1 of the page. Slots that no rank has joined take no memory.
struct WaitPage::Layout {
    std::atomic<std::uint64_t> magic;
    std::atomic<std::uint32_t> version;
    std::atomic<std::int32_t> slots;  // up to the last one that a rank has joined
    std::array<Slot, slots_max> slot;
};

namespace {

constexpr std::uint64_t magic = 0x0a53544941575444;  // "DTWAITS\n"
constexpr std::uint32_t version = 1;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::string_view names[] = {
    "barrier", "gather",         "allgather",          "broadcast_object", "broadcast", "allreduce",
    "reduce",  "reduce_scatter", "allgather_elements", "all_to_all",       "control"};
static_assert(std::size(names) == wait_operation_count);

RankWaits read_slot(WaitPage::Slot const& slot) {
    RankWaits waits{slot.rank_plus_one.load(std::memory_order_relaxed) - 1,
                    slot.operations_begun.load(std::memory_order_relaxed),
                    slot.waits_ended.load(std::memory_order_relaxed),
                    {},
                    {}};
    for (std::size_t i = 0; i < wait_operation_count; ++i)
        waits.waited_ns[i] = slot.waited_ns[i].load(std::memory_order_relaxed);
    for (auto const& entry : slot.awaited) {
        auto const rank = entry.rank_plus_one.load(std::memory_order_acquire);
        auto const ns = entry.ns.load(std::memory_order_acquire);
        // If the entry was replaced meanwhile, the time may be that of another rank.
        if (rank > 0 && entry.rank_plus_one.load(std::memory_order_relaxed) == rank)
            waits.waited_for.push_back({rank - 1, ns});
    }
    return waits;
}

}  // namespace

std::string_view to_string(WaitOperation operation) {
    auto const index = static_cast<std::size_t>(operation);
    return index < wait_operation_count ? names[index] : "unknown";
}

Result<WaitPage> WaitPage::map(int file, std::filesystem::path const& path, int protection) {
    struct stat info {};
    if (::fstat(file, &info) != 0) return os_error(fmt::format("look at '{}'", path.string()), errno);
    if (static_cast<std::size_t>(info.st_size) != sizeof(Layout))
        return Error{codes::damaged, fmt::format("'{}' has not the size of a page of waits", path.string())};
    void* const memory = ::mmap(nullptr, sizeof(Layout), protection, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return os_error(fmt::format("map '{}'", path.string()), errno);
    return WaitPage(static_cast<Layout*>(memory));
}

Result<WaitPage> WaitPage::open_for_writing(std::filesystem::path const& path, int local_rank) {
    UniqueFd const file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    // Several ranks may do this at the same time: the size is always the same.
    struct stat info {};
    bool const is_new = ::fstat(file.get(), &info) == 0 && info.st_size == 0;
    if (is_new && ::ftruncate(file.get(), sizeof(Layout)) != 0)
        return os_error(fmt::format("size '{}'", path.string()), errno);
    DET_TRY_ASSIGN(auto page, map(file.get(), path, PROT_READ | PROT_WRITE));
    auto const slot = offsetof(Layout, slot) + static_cast<std::size_t>(local_rank) * sizeof(Slot);
    DET_TRY(allocate_file(file.get(), 0, offsetof(Layout, slot)));
    DET_TRY(allocate_file(file.get(), slot, sizeof(Slot)));
    page.page_->version.store(version, std::memory_order_relaxed);
    page.page_->magic.store(magic, std::memory_order_release);
    return page;
}

Result<WaitPage> WaitPage::open_for_reading(std::filesystem::path const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    DET_TRY_ASSIGN(auto page, map(file.get(), path, PROT_READ));
    if (page.page_->magic.load(std::memory_order_acquire) == magic &&
        page.page_->version.load(std::memory_order_relaxed) == version)
        return page;
    return Error{codes::damaged,
                 fmt::format("'{}' is no page of waits of version {}", path.string(), version)};
}

WaitPage::WaitPage(WaitPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

WaitPage::~WaitPage() {
    if (page_ != nullptr) ::munmap(page_, sizeof(Layout));
}

std::vector<RankWaits> WaitPage::read() const {
    std::vector<RankWaits> ranks;
    auto const slots = std::clamp(page_->slots.load(std::memory_order_acquire), 0, slots_max);
    for (int i = 0; i < slots; ++i) {
        auto const& slot = page_->slot[static_cast<std::size_t>(i)];
        if (slot.rank_plus_one.load(std::memory_order_acquire) > 0) ranks.push_back(read_slot(slot));
    }
    return ranks;
}

WaitPage::Slot& WaitPage::join(int local_rank, int rank) {
    auto& slot = page_->slot[static_cast<std::size_t>(local_rank)];
    slot.rank_plus_one.store(rank + 1, std::memory_order_release);
    auto slots = page_->slots.load(std::memory_order_relaxed);
    while (slots <= local_rank &&
           !page_->slots.compare_exchange_weak(slots, local_rank + 1, std::memory_order_release)) {
    }
    return slot;
}

}  // namespace det::liveness
