#include "objects.hpp"

#include <det/foundation/bytes.hpp>

#include <cstring>
#include <optional>

#include "ring.hpp"

namespace det::collectives {
namespace {

using transport::MutableBytes;
using transport::Request;

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

}  // namespace

std::size_t whole_limit(std::size_t small_limit_bytes, int values) {
    return small_limit_bytes / static_cast<std::size_t>(values);
}

std::size_t entries_limit(std::size_t small_limit_bytes, int ranks) {
    return small_limit_bytes + size_field_bytes * static_cast<std::size_t>(ranks);
}

void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes) {
    if (message.head().verdict != Verdict::agreed) return;
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

Result<std::vector<std::string>> spread_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string const& own) {
    auto values = begin_values(entries);
    auto const rank = static_cast<std::size_t>(channel.peers.rank().value);
    if (!entries[rank].is_whole()) values[rank] = own;
    Blocks blocks(entries.size());
    bool is_complete = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].is_whole()) continue;
        blocks[i] = memory_of(values[i]);
        is_complete = false;
    }
    if (!is_complete) DET_TRY(ring_allgather(channel, blocks, channel.peers.rank().value));
    return values;
}

Result<std::vector<std::string>> collect_values(Channel channel, std::vector<Entry> const& entries,
                                                std::string own, Rank root) {
    auto const rank = static_cast<std::size_t>(channel.peers.rank().value);
    if (channel.peers.rank() != root) {
        if (!entries[rank].is_whole()) {
            DET_TRY(channel.peers.send(root, channel.tag, std::as_bytes(std::span(own))));
        }
        return std::vector<std::string>{};
    }
    auto values = begin_values(entries);
    std::vector<Request> receiving;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].is_whole() || i == rank) continue;
        DET_TRY_ASSIGN(auto request, channel.peers.start_receive(Rank{static_cast<int>(i)}, channel.tag,
                                                                 memory_of(values[i])));
        receiving.push_back(std::move(request));
    }
    values[rank] = std::move(own);
    for (auto& request : receiving) DET_TRY(request.finish());
    return values;
}

}  // namespace det::collectives
