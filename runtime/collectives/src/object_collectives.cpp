#include "object_collectives.hpp"

#include <algorithm>
#include <cstring>

#include "run_schedule.hpp"

namespace det::collectives {
namespace {

using transport::MutableBytes;

constexpr std::size_t size_field_bytes = sizeof(std::uint64_t);

Error malformed() {
    return Error{codes::transport, "the agreement of a collective operation does not hold what it should",
                 "start all ranks from the same version of the program"};
}

std::vector<std::string> begin_values(std::vector<Entry> const& entries) {
    std::vector<std::string> values;
    for (auto const& entry : entries) values.push_back(begin_value(entry));
    return values;
}

/// Sends the values that the agreement did not carry. In the schedule each value is a block.
Status send_rest(Channel channel, SchedulePlan plan, std::vector<Entry> const& entries,
                 std::vector<std::string>& values, std::size_t piece_bytes) {
    bool const is_single = channel.peers.size() == 1;
    if (is_single || std::ranges::all_of(entries, &Entry::is_whole)) return Ok{};
    plan.rank = channel.peers.rank();
    plan.ranks = channel.peers.size();
    Blocks blocks(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!entries[i].is_whole()) blocks[i] = memory_of(values[i]);
    }
    return run_schedule(channel, schedule_of(plan), blocks, {piece_bytes, {}});
}

}  // namespace

std::size_t whole_value_limit_bytes(std::size_t small_limit_bytes, int values) {
    return small_limit_bytes / static_cast<std::size_t>(values);
}

std::size_t entries_limit_bytes(std::size_t small_limit_bytes, int ranks) {
    return small_limit_bytes + size_field_bytes * static_cast<std::size_t>(ranks);
}

void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes) {
    if (!message.is_agreed()) return;
    auto const size = std::uint64_t{value.size()};
    message.append(std::as_bytes(std::span(&size, 1)));
    if (value.size() <= whole_limit_bytes) message.append(std::as_bytes(std::span(value)));
}

Result<std::vector<Entry>> read_entries(Message const& message, std::size_t whole_limit_bytes, int count) {
    std::vector<Entry> entries;
    auto rest = message.payload();
    while (!rest.empty()) {
        if (rest.size() < size_field_bytes) return malformed();
        Entry entry;
        std::memcpy(&entry.size, rest.data(), size_field_bytes);
        rest = rest.subspan(size_field_bytes);
        auto const carried = entry.size <= whole_limit_bytes ? entry.size : 0;
        if (rest.size() < carried) return malformed();
        entry.bytes = rest.first(carried);
        rest = rest.subspan(carried);
        entries.push_back(entry);
    }
    if (entries.size() != static_cast<std::size_t>(count)) return malformed();
    return entries;
}

std::string begin_value(Entry const& entry) {
    std::string value(reinterpret_cast<char const*>(entry.bytes.data()), entry.bytes.size());
    value.resize(entry.size);
    return value;
}

MutableBytes memory_of(std::string& value) { return std::as_writable_bytes(std::span(value)); }

void merge_entries(Message& mine, Message const& theirs, Side theirs_is) {
    if (theirs_is == Side::below) {
        mine.prepend(theirs.payload());
    } else {
        mine.append(theirs.payload());
    }
}

Result<std::vector<std::string>> allgather_values(Channel channel, std::vector<Entry> const& entries,
                                                  std::string const& own, std::size_t piece_bytes) {
    auto values = begin_values(entries);
    auto const rank = static_cast<std::size_t>(channel.peers.rank().value);
    if (!entries[rank].is_whole()) values[rank] = own;
    DET_TRY(send_rest(channel, {.kind = Kind::allgather, .algorithm = Algorithm::ring}, entries, values,
                      piece_bytes));
    return values;
}

Result<std::vector<std::string>> gather_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string own, Rank root, std::size_t piece_bytes) {
    std::vector<std::string> values(entries.size());
    if (channel.peers.rank() == root) values = begin_values(entries);
    values[static_cast<std::size_t>(channel.peers.rank().value)] = std::move(own);
    DET_TRY(send_rest(channel, {.kind = Kind::gather, .root = root}, entries, values, piece_bytes));
    if (channel.peers.rank() != root) values.clear();
    return values;
}

}  // namespace det::collectives
