#include <det/journal/damage.hpp>
#include <det/journal/reader.hpp>
#include <det/tracker/ingest/journal_follower.hpp>

#include <fmt/format.h>
#include <utility>

namespace det::tracker::ingest {
namespace {

constexpr std::size_t pending_limit_bytes = std::size_t{32} << 20;

// A writer begins again with number 0 after 4096 schemas, so the last 4096 are the ones in force.
constexpr std::size_t schemas_in_force_max = 4096;

void forget_old_schemas(std::vector<std::string>& schemas) {
    if (schemas.size() < 2 * schemas_in_force_max) return;
    schemas.erase(schemas.begin(), schemas.begin() + schemas_in_force_max);
}

}  // namespace

JournalFollower::JournalFollower(index::Database& database, index::JournalRow row)
    : database_(database), row_(std::move(row)), blocks_(database, row_.id) {
    // take_schema() has accepted these schemas before, so they are valid.
    for (auto const& schema : row_.frame_schemas) (void)frames_.add_schema(schema);
}

Result<bool> JournalFollower::follow(std::filesystem::path const& path) {
    auto const old_offset_bytes = row_.offset_bytes;
    // The user may have accepted the damage since the last call.
    auto const old_error = std::exchange(row_.error, std::nullopt);
    if (old_error && old_error->code != codes::journal_damaged) row_.error = old_error;
    while (!row_.error) {
        auto const bytes = journal::read_journal_bytes(path, row_.offset_bytes);
        if (!bytes) {
            row_.error = bytes.error();
            break;
        }
        DET_TRY_ASSIGN(bool const has_read, follow_bytes(*bytes, path));
        if (!has_read) break;
    }
    if (old_error && !row_.error) DET_TRY(check_end(path));
    if (row_.error == old_error && row_.offset_bytes == old_offset_bytes) return false;
    DET_TRY(blocks_.write());
    DET_TRY(index::update_journal(database_, row_));
    return true;
}

Result<bool> JournalFollower::follow_bytes(std::string_view bytes, std::filesystem::path const& path) {
    auto const before = row_.offset_bytes;
    auto const fail = [&](Error error) {
        row_.error = error.code == codes::journal_damaged
                         ? std::move(error)  // it names the file
                         : std::move(error).while_doing(fmt::format("reading '{}'", path.string()));
        return true;
    };
    if (row_.offset_bytes == 0) {
        bool const is_being_created =
            bytes.size() < journal::header_size_bytes && journal::render_header().starts_with(bytes);
        if (is_being_created) return false;
        if (auto const header = journal::check_header(bytes); !header) return fail(header.error());
        row_.offset_bytes = journal::header_size_bytes;
        bytes.remove_prefix(journal::header_size_bytes);
    }
    for (;;) {
        auto const frame = journal::read_frame(bytes);
        bool const is_damaged = frame.state == journal::FrameState::damaged;
        bool const is_at_end = frame.size_bytes == bytes.size();  // a writer may still change these bytes
        if (is_damaged ? is_at_end : frame.state != journal::FrameState::whole)
            return row_.offset_bytes != before;
        auto const taken = is_damaged ? damage_of(frame, path) : take_frame(frame);
        if (!taken && !journal::is_damage_accepted({path, {{row_.offset_bytes, frame.size_bytes}}}))
            return fail(taken.error());
        row_.offset_bytes += frame.size_bytes;
        bytes.remove_prefix(frame.size_bytes);
        DET_TRY(blocks_.write_full_blocks());
        if (blocks_.pending_bytes() > pending_limit_bytes) DET_TRY(blocks_.write());
    }
}

/// The error of damaged bytes at the present offset.
Status JournalFollower::damage_of(journal::FrameView const& frame, std::filesystem::path const& path) const {
    return journal::journal_damaged_error({path, {{row_.offset_bytes, frame.size_bytes}}});
}

Status JournalFollower::take_frame(journal::FrameView const& frame) {
    switch (static_cast<RecordType>(frame.type)) {
        case RecordType::metric_schema:
            return take_schema(frame.payload);
        case RecordType::metric_values:
            return take_values(frame.payload);
        default:
            return take_record(frame);
    }
}

Status JournalFollower::take_schema(std::string_view payload) {
    DET_TRY(frames_.add_schema(payload));
    forget_old_schemas(row_.frame_schemas);
    row_.frame_schemas.emplace_back(payload);
    blocks_.forget_schema_ids();
    last_schema_.reset();
    return Ok{};
}

Status JournalFollower::take_values(std::string_view payload) {
    auto& first_steps = row_.records.beginning.first_steps;
    return frames_.visit(payload, [&](MetricReportView const& report) {
        if (last_schema_ != report.schema_id) {
            first_steps.try_emplace(report.schema.group, report.steps_completed);
            last_schema_ = report.schema_id;
        }
        row_.records.add_step(report.schema.group, report.steps_completed);
        blocks_.add(row_.reports++, report);
    });
}

Status JournalFollower::take_record(journal::FrameView const& frame) {
    DET_TRY_ASSIGN(auto const record, decode_record(frame.type, frame.payload));
    if (!record) return Ok{};
    if (auto const* const report = std::get_if<MetricsReported>(&*record)) {
        row_.records.beginning.add(*record);
        row_.records.add_step(report->group, report->steps_completed);
        blocks_.add(row_.reports++, *report);
    } else {
        row_.records.add(*record);
    }
    return Ok{};
}

/// Finds damaged bytes at the end of the file. follow_bytes() does not take these, because a writer may
/// change them.
Status JournalFollower::check_end(std::filesystem::path const& path) {
    DET_TRY_ASSIGN(auto const rest, journal::read_journal_bytes(path, row_.offset_bytes));
    auto const frame = journal::read_frame(rest);
    if (row_.offset_bytes == 0 || frame.state != journal::FrameState::damaged) return Ok{};
    if (journal::is_damage_accepted({path, {{row_.offset_bytes, frame.size_bytes}}})) return Ok{};
    row_.error = damage_of(frame, path).error();
    return Ok{};
}

Status JournalFollower::mark_settled(std::filesystem::path const& path) {
    if (!row_.error) DET_TRY(check_end(path));
    row_.is_settled = !row_.error || row_.error->code != codes::journal_damaged;
    if (row_.is_settled) DET_TRY(index::compact_blocks(database_, row_.id));
    return index::update_journal(database_, row_);
}

}  // namespace det::tracker::ingest
