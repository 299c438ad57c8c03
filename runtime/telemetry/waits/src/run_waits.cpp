#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/frame.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/telemetry/waits/run_waits.hpp>
#include <det/telemetry/waits/wait_reports.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <vector>

namespace det::telemetry {
namespace {

constexpr std::string_view operations_name = "operations", waited_in = "waited.", waited_for = "waited_for.";

/// The name of a metric without its rank, and the rank; nullopt for a name of another form.
std::optional<std::pair<std::string_view, int>> split_name(std::string_view name) {
    auto const space = name.rfind(' ');
    if (space == name.npos) return std::nullopt;
    auto const rank = parse_integer<int>(name.substr(space + 1));
    if (!rank || *rank < 0) return std::nullopt;
    return std::pair(name.substr(0, space), *rank);
}

void add_value(RankWaitTime& waits, std::string_view name, double value) {
    constexpr double value_max = 1e15;  // more is no time; sums stay finite
    if (!(value > 0 && value <= value_max)) return;
    if (name == operations_name) {
        waits.operations += value;
    } else if (name.starts_with(waited_in)) {
        waits.seconds_in[std::string(name.substr(waited_in.size()))] += value;
    } else if (name.starts_with(waited_for)) {
        auto const rank = parse_integer<int>(name.substr(waited_for.size()));
        if (rank && *rank >= 0) waits.seconds_for[*rank] += value;
    }
}

/// Visits the reports of the group waits in a node's journal.
Status visit_reports(std::string_view journal, MetricFrameReader::Visitor const& visitor) {
    if (journal.size() < journal::header_size_bytes) return Ok{};  // its writer has just created it
    DET_TRY(journal::check_header(journal));
    MetricFrameReader reader;
    auto const visit_waits = [&](MetricReportView const& report) {
        if (report.schema.group == waits_group) visitor(report);
    };
    for (auto rest = journal.substr(journal::header_size_bytes);;) {
        auto const frame = journal::read_frame(rest);
        if (frame.state == journal::FrameState::damaged)
            return Error{codes::journal_damaged,
                         fmt::format("it is damaged at byte {}", journal.size() - rest.size())};
        if (frame.state != journal::FrameState::whole) return Ok{};
        rest.remove_prefix(frame.size_bytes);
        if (frame.type == static_cast<std::uint16_t>(RecordType::metric_schema))
            DET_TRY(reader.add_schema(frame.payload));
        if (frame.type == static_cast<std::uint16_t>(RecordType::metric_values))
            DET_TRY(reader.visit(frame.payload, visit_waits));
    }
}

/// The journals of the nodes that have one, by node.
Result<std::map<int, std::string>> read_journals(RunLayout const& run, int nodes) {
    constexpr std::size_t journal_limit_bytes = std::size_t{1} << 30;
    std::map<int, std::string> journals;
    for (int node = 0; node < nodes; ++node) {
        auto bytes = read_file(run.node_waits(node), journal_limit_bytes);
        if (!bytes && bytes.error().code == codes::no_such_file) continue;
        if (!bytes) return std::move(bytes).error();
        journals.emplace(node, *std::move(bytes));
    }
    return journals;
}

}  // namespace

double RankWaitTime::waited_s() const {
    return std::accumulate(seconds_in.begin(), seconds_in.end(), 0.0,
                           [](double sum, auto const& each) { return sum + each.second; });
}

Status add_waits(RunWaits& waits, std::string_view journal, int node, UtcTime since) {
    std::set<std::uint32_t> known_schemas;  // ids of schemas whose ranks have an entry in `waits`
    return visit_reports(journal, [&](MetricReportView const& report) {
        bool const is_in_period = report.time > since;
        bool const is_known = !known_schemas.insert(report.schema_id).second;
        if (!is_in_period && is_known) return;
        auto const& columns = report.schema.columns;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            auto const name = split_name(columns[i].name);
            if (!name) continue;
            auto& rank = waits[name->second];
            rank.node = node;
            if (is_in_period) add_value(rank, name->first, report.value(i));
        }
    });
}

Result<std::optional<UtcTime>> last_wait_report_time(std::string_view journal) {
    std::optional<UtcTime> last;
    DET_TRY(visit_reports(journal, [&](MetricReportView const& report) {
        last = last ? std::max(*last, report.time) : report.time;
    }));
    return last;
}

Result<RunWaits> load_waits(RunLayout const& run, int nodes, WaitPeriod const& period) {
    DET_TRY_ASSIGN(auto const journals, read_journals(run, nodes));
    auto end = period.end;
    for (auto const& [node, journal] : journals) {
        if (period.end) break;
        DET_TRY_ASSIGN(auto const last, last_wait_report_time(journal));
        if (last) end = end ? std::max(*end, *last) : *last;
    }
    RunWaits waits;
    if (!end) return waits;
    UtcTime const since{end->microseconds - std::chrono::microseconds(period.length).count()};
    for (auto const& [node, journal] : journals) {
        if (auto added = add_waits(waits, journal, node, since); !added)
            return std::move(added).error().while_doing(
                fmt::format("reading '{}'", run.node_waits(node).string()));
    }
    return waits;
}

}  // namespace det::telemetry
