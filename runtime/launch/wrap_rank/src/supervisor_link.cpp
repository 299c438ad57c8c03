#include "supervisor_link.hpp"

#include <det/foundation/allocate_file.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/protocol/task_identity.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace det::launch::wrap_rank {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr char page_file[] = "supervisor-link";
constexpr std::size_t page_size_bytes = 4096;
constexpr std::size_t secret_file_max_bytes = 4096;
constexpr auto connected_for = 5s;        // after an answer
constexpr auto until_next_attempt = 20s;  // if the secret can't be read, or no thread be started

std::int64_t steady_ns() { return steady_clock::now().time_since_epoch() / 1ns; }

}  // namespace

std::unique_ptr<SupervisorLink> SupervisorLink::open(Environment const& environment, int node) {
    auto const text = environment.find_non_empty(variables::node_monitor);
    auto const run = environment.find_non_empty(variables::run_path);
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    auto address = text ? transport::parse_node_monitor_address(*text) : std::nullopt;
    if (!address || !run || !run_dir || node < 0 || node >= address->nodes) return nullptr;
    auto const path = std::filesystem::path(*run_dir) / page_file;
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file || ::ftruncate(file.get(), page_size_bytes) != 0) return nullptr;
    // On a full disk the first store would end this process by SIGBUS: then the files are used.
    if (!allocate_file(file.get(), 0, page_size_bytes)) return nullptr;
    void* const memory = ::mmap(nullptr, page_size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return nullptr;
    return std::unique_ptr<SupervisorLink>(new SupervisorLink(std::move(file), static_cast<Page*>(memory),
                                                              *std::move(address),
                                                              RunLayout(*run).rendezvous(), node));
}

SupervisorLink::SupervisorLink(UniqueFd file, Page* page, transport::NodeMonitorAddress address,
                               std::filesystem::path secret_file, int node)
    : file_(std::move(file)),
      page_(page),
      address_(std::move(address)),
      secret_file_(std::move(secret_file)),
      node_(node) {}

SupervisorLink::~SupervisorLink() {
    (void)leave();
    ::munmap(page_, page_size_bytes);
}

bool SupervisorLink::leave() {
    if (std::exchange(has_ended_, true)) return true;
    if (beats_) {
        auto const left = beats_->leave();
        // Another wrapper that has sent before may have said it, if this one has not connected since.
        if (left != transport::NodeBeats::Left::never_connected)
            page_->has_left = left == transport::NodeBeats::Left::known ? 1 : 0;
        page_->answered_at_ns = 0;  // until another wrapper is connected
        return page_->has_left != 0;
    }
    // The wrapper that holds the lock tells the supervisor at its own end.
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return true;
    return page_->has_left != 0;
}

bool SupervisorLink::take_file(File file) {
    auto const bit = static_cast<std::uint32_t>(file);
    if ((page_->files.load(std::memory_order_relaxed) & bit) == 0) return false;
    return (page_->files.fetch_and(~bit, std::memory_order_relaxed) & bit) != 0;
}

bool SupervisorLink::takes_turn(std::chrono::nanoseconds interval) {
    auto last = page_->turn_at_ns.load(std::memory_order_relaxed);
    auto const now = steady_ns();
    if (last != 0 && now - last < interval.count()) return false;
    return page_->turn_at_ns.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

void SupervisorLink::advance() {
    auto const now = steady_clock::now();
    if (has_ended_ || beats_ || (next_attempt_at_ && now < *next_attempt_at_)) return;
    // The lock is held until this process ends.
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return;
    auto const text = read_file(secret_file_, secret_file_max_bytes);
    auto const rendezvous = text ? parse_rendezvous_file(*text) : Result<RendezvousFile>(text.error());
    next_attempt_at_ = now + until_next_attempt;
    if (!rendezvous) return;
    transport::NodeBeats::Options options{address_, rendezvous->secret, node_};
    options.takes_over = page_->was_answered.load(std::memory_order_relaxed) != 0;
    options.find_activity = [page = page_]() -> std::optional<std::uint64_t> {
        if (page->has_activity.load(std::memory_order_acquire) == 0) return std::nullopt;
        return page->activity.load(std::memory_order_relaxed);
    };
    options.on_answer = [page = page_](transport::NodeRequests requests) {
        page->requests.store(requests, std::memory_order_relaxed);
        page->has_left.store(0, std::memory_order_relaxed);
        page->was_answered.store(1, std::memory_order_relaxed);
        page->answered_at_ns.store(steady_ns(), std::memory_order_release);
    };
    try {
        beats_.emplace(std::move(options));
    } catch (std::system_error const&) {
        // No thread can be started now, for example because of a limit: the next attempt may succeed.
    }
}

bool SupervisorLink::is_connected() const {
    auto const answered_at = page_->answered_at_ns.load(std::memory_order_acquire);
    return answered_at != 0 && steady_ns() - answered_at < std::chrono::nanoseconds(connected_for).count();
}

transport::NodeRequests SupervisorLink::requests() const {
    return page_->requests.load(std::memory_order_relaxed);
}

void SupervisorLink::show_activity(std::uint64_t activity) {
    page_->activity.store(activity, std::memory_order_relaxed);
    page_->has_activity.store(1, std::memory_order_release);
}

}  // namespace det::launch::wrap_rank
