#include <det/foundation/files.hpp>
#include <det/preemption/notice_page.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace det::preemption {

/// Version 1 of the page. Numbers are little-endian. The rest of the page is zero and reserved for later
/// versions.
struct NoticePage::Layout {
    char magic[8];
    std::uint32_t version;
    std::uint32_t unused;
    std::atomic<std::int64_t> raised_at_us;                  // 0: no notice
    std::atomic<std::int64_t> raised_at_steady_us;           // the same time by the node's steady clock
    std::atomic<std::int64_t> raised_by_slurm_at_steady_us;  // 0: no notice from Slurm
};

namespace {

constexpr std::size_t page_size_bytes = 4096;
constexpr std::string_view magic("DETPAGE\n", 8);
constexpr std::uint32_t version = 1;

std::optional<NoticePage::SteadyTime> steady_time_in(std::atomic<std::int64_t> const& word) noexcept {
    std::chrono::microseconds const time(word.load(std::memory_order_relaxed));
    return time.count() == 0 ? std::nullopt : std::optional(NoticePage::SteadyTime(time));
}

}  // namespace

Status NoticePage::create(std::filesystem::path const& path) {
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
    std::string page(magic);
    page.append(reinterpret_cast<char const*>(&version), sizeof version);
    page.resize(page_size_bytes, '\0');
    return write_file(path, page);
}

Result<NoticePage> NoticePage::open(std::filesystem::path const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    struct stat info {};
    if (::fstat(file.get(), &info) != 0 || static_cast<std::size_t>(info.st_size) < page_size_bytes) {
        return Error{codes::damaged, fmt::format("'{}' is too short for a notice page", path.string())};
    }
    void* const memory = ::mmap(nullptr, page_size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return os_error(fmt::format("map '{}'", path.string()), errno);
    NoticePage page(static_cast<Layout*>(memory));
    if (std::string_view(page.page_->magic, magic.size()) != magic || page.page_->version != version) {
        return Error{codes::damaged,
                     fmt::format("'{}' is no notice page of version {}", path.string(), version)};
    }
    return page;
}

NoticePage::NoticePage(NoticePage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

NoticePage::~NoticePage() {
    if (page_ != nullptr) ::munmap(page_, page_size_bytes);
}

bool NoticePage::is_raised() const noexcept {
    return page_->raised_at_us.load(std::memory_order_acquire) != 0;
}

std::optional<UtcTime> NoticePage::raised_at() const noexcept {
    auto const time = page_->raised_at_us.load(std::memory_order_relaxed);
    return time == 0 ? std::nullopt : std::optional(UtcTime{time});
}

std::optional<NoticePage::SteadyTime> NoticePage::raised_at_steady() const noexcept {
    return steady_time_in(page_->raised_at_steady_us);
}

std::optional<NoticePage::SteadyTime> NoticePage::raised_by_slurm_at_steady() const noexcept {
    return steady_time_in(page_->raised_by_slurm_at_steady_us);
}

void NoticePage::raise(Clock const& clock, By by) noexcept {
    auto const since_boot = clock.steady_now().time_since_epoch();
    auto const steady_us = std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count();
    auto const set_once = [](std::atomic<std::int64_t>& word, std::int64_t time_us, std::memory_order order) {
        std::int64_t none = 0;
        word.compare_exchange_strong(none, std::max<std::int64_t>(time_us, 1), order,
                                     std::memory_order_relaxed);
    };
    // raised_at_us is stored last, so that a reader that sees the page raised also sees the other times.
    if (by == By::slurm) set_once(page_->raised_by_slurm_at_steady_us, steady_us, std::memory_order_relaxed);
    set_once(page_->raised_at_steady_us, steady_us, std::memory_order_relaxed);
    set_once(page_->raised_at_us, clock.now().microseconds, std::memory_order_release);
}

}  // namespace det::preemption
