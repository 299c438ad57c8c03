#include "experiment/start_times.hpp"

#include <det/experiment/find_start_times.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>

#include <fmt/format.h>
#include <ostream>

#include "output/table.hpp"

namespace det::cli {
namespace {

using experiment::StartTime;

constexpr std::int64_t soon_us = 60'000'000;  // sbatch --test-only adds a few seconds to the present time

bool is_now(StartTime const& answer, UtcTime now) {
    return answer.start && answer.start->microseconds <= now.microseconds + soon_us;
}

std::string time_limit_text(std::int64_t seconds) {
    auto const minutes = seconds / 60;
    if (minutes % 60 != 0 || minutes == 0) return fmt::format("{} min", minutes);
    return fmt::format("{} h", minutes / 60);
}

Json as_json(std::vector<StartTime> const& answers, UtcTime now) {
    auto rows = Json::array();
    for (auto const& answer : answers) {
        rows.push_back({{"resource_pool", answer.pool},
                        {"slots", answer.slots},
                        {"nodes", answer.nodes},
                        {"time_limit_s", answer.time_limit_s},
                        {"start", json_or_null(answer.start)},
                        {"start_unknown_because", text_or_null(answer.unknown_because)},
                        {"now", is_now(answer, now)}});
    }
    return rows;
}

std::string as_text(std::vector<StartTime> const& answers, UtcTime now, AnswerStyle const& style) {
    Table table({"Starts", "Slots", "Nodes", "Time Limit", "Resource Pool"});
    for (auto const& answer : answers) {
        auto const start = is_now(answer, now) ? "now" : answer.start ? style.time(answer.start) : "unknown";
        table.add({start, std::to_string(answer.slots), std::to_string(answer.nodes),
                   time_limit_text(answer.time_limit_s), answer.pool});
    }
    return table.render(style);
}

}  // namespace

Outcome print_start_times(experiment::SubmissionOptions const& options, Session& session) {
    DET_TRY_ASSIGN(auto const answers, experiment::find_start_times(options, session));
    auto const now = session.clock.now();
    session.answer(as_json(answers, now), as_text(answers, now, answer_style_of(session)));
    session.say("Slurm estimates these from the time limits of the jobs in the queue; nothing was submitted");
    return ExitCode::done;
}

}  // namespace det::cli
