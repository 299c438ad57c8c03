// The lines of a trial's logs, in pieces: each answer has a cursor from which the next one goes on.
#include "logs.hpp"

#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>

#include <deque>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "changes.hpp"
#include "logs/log_follower.hpp"

namespace det::tracker::api {
namespace {

struct LogQuery {
    TrialLayout trial;
    cli::LogChoice choice;
    std::vector<cli::LogPosition> cursor;
    std::size_t limit = 1000;
    std::optional<std::size_t> tail;
    bool is_backwards = false;  // the cursor is where the lines end
    std::chrono::milliseconds wait{0};
};

constexpr std::size_t lines_max = 10000;
constexpr std::size_t logs_max = 10000;  // in a cursor

Error bad(std::string message) { return Error{codes::bad_request, std::move(message), "see API.md"}; }

/// "run:node:offset,..."
std::string render_cursor(std::vector<cli::LogPosition> const& positions) {
    std::string text;
    for (auto const& [run, node, offset] : positions)
        text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", run, node, offset);
    return text;
}

Result<std::vector<cli::LogPosition>> parse_cursor(std::string const& text) {
    std::vector<cli::LogPosition> positions;
    if (text.empty()) return positions;
    for (auto const part : split(text, ',')) {
        auto const fields = split(part, ':');
        auto const run = parse_integer<std::uint32_t>(fields[0]);
        auto const node = fields.size() == 3 ? parse_integer<std::uint16_t>(fields[1]) : std::nullopt;
        auto const offset = fields.size() == 3 ? parse_integer<std::uint64_t>(fields[2]) : std::nullopt;
        if (!run || !node || !offset || *offset > std::uint64_t{1} << 60 || positions.size() == logs_max)
            return bad("the parameter 'after' is no cursor of an earlier answer");
        positions.push_back({*run, *node, static_cast<std::size_t>(*offset)});
    }
    return positions;
}

Status choose_lines(cli::LogFilter& filter, Request const& request, UtcTime now) {
    if (auto const text = text_parameter(request, "rank")) {
        std::vector<std::uint32_t> ranks;
        for (auto const part : split(*text, ',')) {
            auto const rank = parse_integer<std::uint32_t>(part);
            if (!rank)
                return bad("the parameter 'rank' is no number of a rank, and no list of them like 0,3");
            ranks.push_back(*rank);
        }
        filter.only_ranks(std::move(ranks));
    }
    for (auto const* name : {"since", "until"}) {
        auto const text = text_parameter(request, name);
        if (!text) continue;
        auto const moment = cli::parse_moment(*text, now);
        if (!moment) return bad(fmt::format("the parameter '{}' is not a time", name));
        if (std::string_view(name) == "since") filter.since(*moment);
        if (std::string_view(name) == "until") filter.until(*moment);
    }
    if (auto const text = text_parameter(request, "level")) {
        auto const level = cli::parse_log_level(*text);
        if (!level) return bad("the parameter 'level' is not trace, debug, info, warning, error or critical");
        filter.at_least(*level);
    }
    if (auto const pattern = text_parameter(request, "grep")) {
        auto compiled = filter.grep(*pattern);
        if (!compiled) return bad(compiled.error().message);
    }
    return Ok{};
}

Result<LogQuery> parse_log_query(Sources const& sources, Request const& request) {
    DET_TRY(reject_unknown_parameters(request, {"rank", "node", "run", "since", "until", "level", "grep",
                                                "tail", "limit", "after", "before", "wait"}));
    DET_TRY_ASSIGN(auto const id, trial_of(request));
    DET_TRY_ASSIGN(auto const record, sources.history.load_experiment(id.experiment));
    if (id.index >= record.trials.size())
        return Error{codes::no_such_trial, fmt::format("there is no trial {}", to_string(id))};
    LogQuery query{ExperimentLayout(sources.root, id.experiment).trial(id.index), {}, {}, 1000, {}, {}};
    DET_TRY_ASSIGN(auto const run, integer_parameter(request, "run"));
    if (run && *run > 0xffff'ffff) return bad("the parameter 'run' is too large");
    if (run) query.choice.run = static_cast<std::uint32_t>(*run);
    query.choice.node = text_parameter(request, "node").value_or("");
    DET_TRY(choose_lines(query.choice.filter, request, sources.clock.now()));
    auto const spec = journal::load_spec(ExperimentLayout(sources.root, id.experiment));
    if (spec && spec->least_ranks() == 1) query.choice.filter.take_lines_without_label();
    DET_TRY_ASSIGN(auto const limit, integer_parameter(request, "limit"));
    query.limit = limit.value_or(query.limit);
    DET_TRY_ASSIGN(query.tail, integer_parameter(request, "tail"));
    if (query.limit == 0 || query.limit > lines_max || query.tail.value_or(1) > lines_max)
        return bad("the parameters 'limit' and 'tail' are numbers of lines up to 10000");
    auto const after = text_parameter(request, "after");
    auto const before = text_parameter(request, "before");
    if ((after ? 1 : 0) + (before ? 1 : 0) + (query.tail ? 1 : 0) > 1)
        return bad("the parameters 'after', 'before' and 'tail' exclude each other");
    query.is_backwards = before.has_value();
    DET_TRY_ASSIGN(query.cursor, parse_cursor(before.value_or(after.value_or(""))));
    DET_TRY_ASSIGN(query.wait, wait_parameter(request));
    return query;
}

/// The last lines of logs, at most `limit`, and the positions at which they begin.
class LastLines {
public:
    explicit LastLines(std::size_t limit) : limit_(limit) {}

    void add(cli::LogLine const& line) {
        lines_.push_back({cli::to_json(line), {line.run, line.node, line.offset}});
        if (lines_.size() <= limit_) return;
        auto const& dropped = lines_.front().position;
        dropped_.insert({dropped.run, dropped.node});
        lines_.pop_front();
    }
    std::size_t size() const { return lines_.size(); }
    std::deque<Json> take_json() {
        std::deque<Json> texts;
        for (auto& line : lines_) texts.push_back(std::move(line.json));
        return texts;
    }

    /// Returns the positions at which a reading of the lines before these ones must end, for the logs of the
    /// run of the first line; for all logs if there are no lines. If no line of a log was dropped, its
    /// position is where the reading began; else it is that of the log's first remaining line, or the end of
    /// the reading.
    /// \param starts where the reading began
    /// \param ends where it ended
    std::vector<cli::LogPosition> positions_before(std::vector<cli::LogPosition> const& starts,
                                                   std::vector<cli::LogPosition> const& ends) const {
        std::map<std::pair<std::uint32_t, int>, std::size_t> at;
        for (auto const& start : starts) at[{start.run, start.node}] = start.offset;
        for (auto const& end : ends) {
            if (dropped_.contains({end.run, end.node})) at[{end.run, end.node}] = end.offset;
        }
        for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
            auto const& [run, node, offset] = line->position;
            if (dropped_.contains({run, node})) at[{run, node}] = offset;
        }
        std::vector<cli::LogPosition> positions;
        auto const first_run = lines_.empty() ? std::optional<std::uint32_t>() : lines_.front().position.run;
        for (auto const& [key, offset] : at) {
            if (key.first == first_run.value_or(key.first))
                positions.push_back({key.first, key.second, offset});
        }
        return positions;
    }

private:
    struct Line {
        Json json;
        cli::LogPosition position;
    };
    std::size_t limit_;
    std::deque<Line> lines_;
    std::set<std::pair<std::uint32_t, int>> dropped_;
};

struct LogPiece {
    std::deque<Json> lines;
    std::string after;        // the cursor of the next lines
    std::string before;       // the cursor of the earlier lines
    bool is_complete = true;  // false: there are more lines now
};

/// Reads the lines before the cursor.
Result<LogPiece> read_earlier_piece(LogQuery const& query) {
    cli::LogFollower follower(query.trial, query.choice);
    follower.resume_at(query.cursor);
    LogPiece piece{{}, render_cursor(query.cursor), render_cursor(query.cursor)};
    DET_TRY_ASSIGN(auto found, follower.find_earlier(query.limit));
    if (!found) return piece;
    std::vector<cli::LogPosition> starts, ends;
    for (auto const& log : found->logs) starts.push_back({found->run, log.node, log.offset});
    LastLines lines(query.limit);
    DET_TRY(cli::merge_node_logs(found->logs, found->run, query.choice.filter, cli::TornLine::leave,
                                 [&](cli::LogLine const& line) {
                                     lines.add(line);
                                     return cli::SinkResult::go_on;
                                 }));
    for (auto const& log : found->logs) ends.push_back({found->run, log.node, log.offset});
    piece.before = render_cursor(lines.positions_before(starts, ends));
    piece.lines = lines.take_json();
    return piece;
}

/// Reads the lines that the query selects. A last line without newline is left for the next piece.
Result<LogPiece> read_piece(LogQuery const& query) {
    if (query.is_backwards) return read_earlier_piece(query);
    cli::LogFollower follower(query.trial, query.choice);
    follower.resume_at(query.cursor);
    // Asks for one line more, because a last line without newline is counted but not sent.
    if (query.tail) DET_TRY(follower.skip_to_tail(*query.tail + 1));
    // The logs of several nodes together may have more lines than were asked for.
    LastLines lines(query.tail ? *query.tail : std::numeric_limits<std::size_t>::max());
    auto const limit = query.tail ? std::numeric_limits<std::size_t>::max() : query.limit;
    DET_TRY_ASSIGN(auto const go,
                   follower.read_new_lines(cli::TornLine::leave, [&](cli::LogLine const& line) {
                       lines.add(line);
                       return lines.size() < limit ? cli::SinkResult::go_on : cli::SinkResult::stop;
                   }));
    LogPiece piece;
    piece.is_complete = go == cli::SinkResult::go_on;
    auto const positions = follower.positions();
    piece.after = render_cursor(positions);
    piece.before = render_cursor(lines.positions_before(follower.starts(), positions));
    piece.lines = lines.take_json();
    return piece;
}

Response piece_response(LogPiece const& piece) {
    return json_response(Json{{"lines", piece.lines},
                              {"after", piece.after},
                              {"before", piece.before},
                              {"complete", piece.is_complete}});
}

void answer_logs(Request const& request, http::Responder const& responder, Sources const& sources,
                 Waiters& waiters) {
    auto const query = parse_log_query(sources, request);
    if (!query) return responder.respond(http::error_response(query.error()));
    auto const piece = read_piece(*query);
    if (!piece) return responder.respond(http::error_response(piece.error()));
    if (!piece->lines.empty() || query->wait.count() == 0) return responder.respond(piece_response(*piece));
    responder.respond_at(std::chrono::steady_clock::now() + query->wait, piece_response(*piece));
    waiters.add(responder, [query = *query]() -> std::optional<Response> {
        auto const later = read_piece(query);
        if (!later) return http::error_response(later.error());
        if (later->lines.empty()) return std::nullopt;
        return piece_response(*later);
    });
}

}  // namespace

void add_log_routes(Routes& routes, Sources& sources, Waiters& waiters) {
    routes.push_back({http::Method::get, "/v1/trials/{trial}/logs", http::AuthClass::owner,
                      [&sources, &waiters](Request const& request, http::Responder const& responder) {
                          answer_logs(request, responder, sources, waiters);
                      }});
}

}  // namespace det::tracker::api
