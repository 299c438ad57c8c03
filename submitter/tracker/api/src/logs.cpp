// The lines of a trial's logs, in pieces: each answer has a cursor from which the next one goes on.
#include "logs.hpp"

#include <det/foundation/text.hpp>

#include <deque>
#include <fmt/format.h>
#include <limits>

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
    DET_TRY_ASSIGN(auto const rank, integer_parameter(request, "rank"));
    if (rank && *rank > 0xffff'ffff) return bad("the parameter 'rank' is too large");
    if (rank) filter.only_rank(static_cast<std::uint32_t>(*rank));
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
    DET_TRY(allow_parameters(request, {"rank", "node", "run", "since", "until", "level", "grep", "tail",
                                       "limit", "after", "wait"}));
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
    DET_TRY_ASSIGN(auto const limit, integer_parameter(request, "limit"));
    query.limit = limit.value_or(query.limit);
    DET_TRY_ASSIGN(query.tail, integer_parameter(request, "tail"));
    if (query.limit == 0 || query.limit > lines_max || query.tail.value_or(1) > lines_max)
        return bad("the parameters 'limit' and 'tail' are numbers of lines up to 10000");
    auto const after = text_parameter(request, "after");
    if (after && query.tail) return bad("the parameters 'after' and 'tail' exclude each other");
    DET_TRY_ASSIGN(query.cursor, parse_cursor(after.value_or("")));
    DET_TRY_ASSIGN(query.wait, wait_parameter(request));
    return query;
}

struct LogPiece {
    std::deque<Json> lines;
    std::string cursor;
    bool is_complete = true;  // false: there are more lines now
};

/// Reads from the cursor. A last line without newline is left for the next piece.
Result<LogPiece> read_piece(LogQuery const& query) {
    cli::LogFollower follower(query.trial, query.choice);
    follower.resume_at(query.cursor);
    // One more: a last line without newline counts, and is not sent.
    if (query.tail) DET_TRY(follower.skip_to_tail(*query.tail + 1));
    LogPiece piece;
    auto const limit = query.tail ? std::numeric_limits<std::size_t>::max() : query.limit;
    DET_TRY_ASSIGN(auto const go, follower.read_news(cli::TornLine::leave, [&](cli::LogLine const& line) {
        piece.lines.push_back(cli::to_json(line));
        // The logs of several nodes together may have more lines than were asked for.
        if (query.tail && piece.lines.size() > *query.tail) piece.lines.pop_front();
        return piece.lines.size() < limit ? cli::Go::on : cli::Go::stop;
    }));
    piece.is_complete = go == cli::Go::on;
    piece.cursor = render_cursor(follower.positions());
    return piece;
}

Response piece_response(LogPiece const& piece) {
    return json_response(
        Json{{"lines", piece.lines}, {"after", piece.cursor}, {"complete", piece.is_complete}});
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
