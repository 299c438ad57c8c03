#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/rank_failure.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <tuple>

namespace det {
namespace {

constexpr char version_key[] = "rank_end";
constexpr int version = 1;

std::optional<RankFailure> parse_line(std::string_view line) {
    auto const json = try_parse_json(line);
    if (json.is_discarded() || !json.is_object()) return std::nullopt;
    try {
        if (json.at(version_key).get<int>() > version) return std::nullopt;
        auto const time = parse_utc(json.at("time").get<std::string>());
        if (!time) return std::nullopt;
        RankFailure end{*time,
                        std::nullopt,
                        json.at("host"),
                        json.at("exit_code"),
                        json.value("signal", 0),
                        json.value("last_words", std::string()),
                        json.value("setup", std::string()),
                        json.value("lost_peer", std::string())};
        if (!json.at("rank").is_null()) end.rank = json.at("rank").get<std::uint32_t>();
        return end;
    } catch (Json::exception const&) {
        return std::nullopt;
    }
}

}  // namespace

std::string render_rank_failure(RankFailure const& end) {
    Json json{{version_key, version},
              {"time", format_utc(end.time)},
              {"rank", end.rank ? Json(*end.rank) : Json(nullptr)},
              {"host", end.host},
              {"exit_code", end.exit_code},
              {"signal", end.signal},
              {"last_words", end.last_output}};
    if (!end.setup_failure.empty()) json["setup"] = end.setup_failure;
    if (!end.lost_peer.empty()) json["lost_peer"] = end.lost_peer;
    return to_line(json) + "\n";
}

std::vector<RankFailure> parse_rank_failures(std::string_view text) {
    std::vector<RankFailure> ends;
    for (auto const line : split_lines(text)) {
        if (auto end = parse_line(line)) ends.push_back(*std::move(end));
    }
    return ends;
}

std::optional<RankFailure> first_to_fail(std::span<RankFailure const> ends) {
    auto const order = [](RankFailure const& end) {
        return std::tuple(end.setup_failure.empty(), !end.rank, !end.lost_peer.empty(), end.time, end.rank);
    };
    auto const first = std::ranges::min_element(ends, {}, order);
    return first == ends.end() ? std::nullopt : std::optional(*first);
}

std::string describe(RankFailure const& end) {
    if (!end.setup_failure.empty())
        return fmt::format("on {}, {}", escape_control(end.host), escape_control(end.setup_failure));
    auto const who = end.rank ? fmt::format("rank {}", *end.rank) : "the launcher";
    auto const* const name = end.signal == 0 ? nullptr : ::sigabbrev_np(end.signal);
    auto const how = end.signal == 0   ? fmt::format("exit code {}", end.exit_code)
                     : name == nullptr ? fmt::format("killed by signal {}", end.signal)
                                       : fmt::format("killed by signal {} ({})", end.signal, name);
    auto const host = escape_control(end.host);
    if (end.lost_peer.empty()) return fmt::format("{} on {} failed first: {}", who, host, how);
    return fmt::format("{} on {} failed after another rank: {} ({})", who, host, how,
                       escape_control(end.lost_peer));
}

}  // namespace det
