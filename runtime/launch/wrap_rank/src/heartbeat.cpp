#include "heartbeat.hpp"

#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/step_requests.hpp>

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int beats_until_silent = 6;
constexpr std::chrono::milliseconds beat_interval_min{500};
// Until a node that is not connected uses its file. Nodes of large runs connect one after another.
constexpr std::chrono::milliseconds file_delay_min = 5s, file_delay_of_node = 2ms;

bool can_be_opened(fs::path const& file) {
    return static_cast<bool>(UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
}

}  // namespace

bool is_superseded(fs::path const& run) {
    auto const number = parse_integer<std::uint32_t>(run.filename().string());
    auto const runs = list_numeric_names(run.parent_path());
    return number && runs && !runs->empty() && runs->back() > *number;
}

Heartbeat::Heartbeat(fs::path const& node_log, fs::path run, std::chrono::seconds silence_limit,
                     SupervisorLink* link, bool has_monitor, Clock const& clock)
    : file_(RunLayout::heartbeat_beside(node_log)),
      left_(RunLayout::left_beside(node_log)),
      run_(std::move(run)),
      interval_(silence_limit / beats_until_silent),
      link_(link),
      has_monitor_(has_monitor),
      clock_(clock),
      next_look_(link == nullptr ? Time() : clock.steady_now() + file_delay()) {}

Heartbeat::~Heartbeat() {
    bool const is_told = link_ != nullptr ? link_->leave() : !has_monitor_;
    if (!is_told) {
        if (link_ != nullptr) link_->note_file(SupervisorLink::File::left);
        UniqueFd(::open(left_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    if (link_ == nullptr || link_->take_file(SupervisorLink::File::heartbeat)) ::unlink(file_.c_str());
}

std::chrono::milliseconds Heartbeat::beat_interval() const {
    return link_ != nullptr ? transport::NodeBeats::interval : file_interval();
}

std::chrono::milliseconds Heartbeat::file_interval() const {
    return std::max(std::chrono::milliseconds(interval_), beat_interval_min);
}

std::chrono::milliseconds Heartbeat::file_delay() const {
    return std::min(file_interval(), file_delay_min + link_->nodes() * file_delay_of_node);
}

bool Heartbeat::uses_file(Time now) const {
    return link_ == nullptr ||
           (!is_connected_ && unconnected_since_ && now - *unconnected_since_ >= file_delay());
}

/// The next time after `now` at which to look at the files.
Heartbeat::Time Heartbeat::find_next_look(Time now) const {
    bool const waits = !is_connected_ && !uses_file(now);
    return waits ? *unconnected_since_ + file_delay() : now + file_interval();
}

bool Heartbeat::beat() {
    if (link_ != nullptr) link_->advance();
    auto const now = clock_.steady_now();
    is_connected_ = link_ != nullptr && link_->is_connected();
    looks_ = false;
    if (is_connected_) {
        unconnected_since_.reset();
        if (!beat_over_network()) return false;
        if (!must_look_for_newer_run()) return true;
    } else if (!unconnected_since_) {
        unconnected_since_ = now;
    }
    looks_ = link_ == nullptr || now >= next_look_;
    if (!looks_) return true;
    next_look_ = find_next_look(now);
    return beat_by_file(now);
}

std::vector<std::string_view> Heartbeat::find_requests() const {
    std::vector<std::string_view> found;
    if (is_connected_) {
        auto const requests = link_->requests();
        if ((requests & transport::node_requests::stop) != 0) found.push_back(step_requests::stop);
        if ((requests & transport::node_requests::stacks) != 0) found.push_back(step_requests::stacks);
    } else if (looks_) {
        // An NFS client asks the server when a file is opened.
        RunLayout const run(run_);
        if (can_be_opened(run.stop_request())) found.push_back(step_requests::stop);
        if (can_be_opened(run.hung())) found.push_back(step_requests::stacks);
    }
    return found;
}

void Heartbeat::show_activity(std::uint64_t activity) {
    if (link_ != nullptr) link_->show_activity(activity);
    bool const is_connected = link_ != nullptr && link_->is_connected();
    if (!is_connected && uses_file(clock_.steady_now())) write_activity(activity);
}

/// Whether the supervisor has not looked for a newer run lately, because its storage does not answer.
bool Heartbeat::must_look_for_newer_run() const {
    return (link_->requests() & transport::node_requests::look_for_newer_run) != 0;
}

/// The supervisor looks for a newer run, and touching the file is not needed.
bool Heartbeat::beat_over_network() {
    if ((link_->requests() & transport::node_requests::superseded) != 0) return false;
    // Another wrapper has ended while the node was not connected: the node goes on.
    if (link_->take_file(SupervisorLink::File::left)) ::unlink(left_.c_str());
    return true;
}

/// Looks for a newer run of the trial and, if it is time, touches the file. Does neither if another task of
/// the node has just done it. A wrapper that writes activity always does both: its own writes keep the file
/// new, so a new file does not show that another task has looked. Errors are ignored.
bool Heartbeat::beat_by_file(Time now) {
    bool const touches = uses_file(now);
    struct stat info {};
    bool const is_fresh = touches && ::stat(file_.c_str(), &info) == 0 &&
                          ::time(nullptr) - info.st_mtime < interval_.count() / 2;
    if (is_fresh && !writes_activity_) return true;
    if (!touches && !link_->takes_turn(file_interval() / 2)) return true;
    if (is_superseded(run_)) return false;
    if (!touches) return true;
    auto const file = open_file();
    if (file) ::futimens(file.get(), nullptr);
    return true;
}

UniqueFd Heartbeat::open_file() const {
    if (link_ != nullptr) link_->note_file(SupervisorLink::File::heartbeat);
    return UniqueFd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/// The number of digits is fixed, so that it replaces an earlier one. Errors are ignored.
void Heartbeat::write_activity(std::uint64_t activity) {
    writes_activity_ = true;
    auto const file = open_file();
    auto const line = fmt::format("{:020}\n", activity);
    if (file) (void)!::pwrite(file.get(), line.data(), line.size(), 0);
}

}  // namespace det::launch::wrap_rank
