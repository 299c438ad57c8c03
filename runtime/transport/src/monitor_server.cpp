#include "monitor_server.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::transport {
namespace {

std::string render_message(MonitorMessage type) { return {static_cast<char>(type)}; }

}  // namespace

std::string render_lost(Rank rank, std::string_view why) {
    auto frame = render_message(MonitorMessage::lost);
    append_value(frame, std::int32_t{rank.value});
    return frame += why;
}

std::optional<Lost> parse_lost(std::string_view frame) {
    if (frame.empty() || frame.front() != static_cast<char>(MonitorMessage::lost)) return std::nullopt;
    FrameReader reader(frame.substr(1));
    auto const rank = reader.value<std::int32_t>();
    if (!rank) return std::nullopt;
    return Lost{{*rank}, std::string(reader.rest())};
}

void MonitorServer::on_joined(Rank rank, Post const& post) {
    heard_[rank.value] = now_;
    if (lost_) post(rank, render_lost(lost_->rank, lost_->why));
}

bool MonitorServer::on_frame(Rank from, std::string_view frame, Post const&) {
    if (frame == render_message(MonitorMessage::leaving)) {
        heard_.erase(from.value);
        return true;
    }
    if (frame != render_message(MonitorMessage::beat)) return false;
    if (auto const reported = heard_.find(from.value); reported != heard_.end()) reported->second = now_;
    return true;
}

void MonitorServer::on_left(Rank rank, Post const& post) {
    if (heard_.contains(rank.value))
        report_lost(rank, "its process has ended, or its connection broke", post);
}

void MonitorServer::on_tick(TimePoint now, Post const& post) {
    // If this process itself was stopped, it could not receive heartbeats.
    bool const was_stopped = now - now_ > silence_limit_ / 2;
    now_ = now;
    if (was_stopped) {
        for (auto& [rank, heard] : heard_) heard = now;
    }
    auto const silent =
        std::ranges::find_if(heard_, [&](auto const& entry) { return now - entry.second > silence_limit_; });
    if (silent != heard_.end()) {
        auto const seconds = std::chrono::duration<double>(silence_limit_).count();
        report_lost({silent->first}, fmt::format("it was silent for {:g} s", seconds), post);
    }
    if (now - last_beat_ < beat_) return;
    last_beat_ = now;
    for (auto const& [rank, heard] : heard_) post({rank}, render_message(MonitorMessage::beat));
}

void MonitorServer::report_lost(Rank rank, std::string why, Post const& post) {
    heard_.erase(rank.value);
    if (!lost_) lost_ = Lost{rank, std::move(why)};
    for (auto const& [other, heard] : heard_) post({other}, render_lost(lost_->rank, lost_->why));
}

}  // namespace det::transport
