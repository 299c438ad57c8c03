#pragma once
#include <map>

#include "frames.hpp"

namespace det::transport {

// The messages between the ranks and the chief of a RankMonitor. Each is one letter; the rank and the reason
// follow the letter MonitorMessage::lost.
enum class MonitorMessage : char { beat = 'B', leaving = 'G', lost = 'L' };

std::string render_lost(Rank rank, std::string_view why);
struct Lost {
    Rank rank;
    std::string why;
};
std::optional<Lost> parse_lost(std::string_view frame);

/// Detects ranks that end or are silent, and notifies the other ranks. The caller of on_tick passes the time,
/// so that tests need not wait.
class MonitorServer final : public FrameHandler {
public:
    static constexpr std::size_t frame_limit_bytes = 64;

    MonitorServer(std::chrono::milliseconds silence_limit, std::chrono::milliseconds beat)
        : silence_limit_(silence_limit), beat_(beat) {}

    void on_joined(Rank rank, Post const& post) override;
    bool on_frame(Rank from, std::string_view frame, Post const& post) override;
    void on_left(Rank rank, Post const& post) override;
    void on_tick(TimePoint now, Post const& post) override;

private:
    void report_lost(Rank rank, std::string why, Post const& post);

    std::chrono::milliseconds silence_limit_;
    std::chrono::milliseconds beat_;
    TimePoint now_ = std::chrono::steady_clock::now();
    TimePoint last_beat_ = {};
    std::map<int, TimePoint> heard_;  // the last heartbeat of each rank that has neither left nor was lost
    std::optional<Lost> lost_;        // the first lost rank
};

}  // namespace det::transport
