#pragma once
#include <string>

#include "agreement.hpp"

namespace det::collectives {

/// A byte string in an agreement: its size, and its bytes if they are few.
struct Entry {
    std::uint64_t size = 0;
    std::span<std::byte const> bytes;  // all bytes, or none
    bool is_whole() const { return bytes.size() == size; }
};

/// The largest value that an agreement carries whole, if each of `values` ranks contributes one.
std::size_t whole_limit(std::size_t small_limit_bytes, int values);
/// The largest payload of an agreement of `ranks` values.
std::size_t entries_limit(std::size_t small_limit_bytes, int ranks);

/// Does nothing if the message holds a failure.
void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes);
/// Reads exactly `count` entries.
Result<std::vector<Entry>> read_entries(Message const& message, std::size_t whole_limit_bytes, int count);

/// A string of the entry's size, filled if the agreement carried the bytes.
std::string begin_value(Entry const& entry);
transport::MutableBytes memory_of(std::string& value);

/// Merges the entries of two messages in rank order.
void merge_entries(Message& mine, Message const& theirs, Side theirs_is);

/// The values of all ranks. Values that the agreement did not carry are sent round a ring.
Result<std::vector<std::string>> spread_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string const& own, std::size_t piece_bytes);
/// The same on rank `root` only; the others get nothing.
Result<std::vector<std::string>> collect_values(Channel channel, std::vector<Entry> const& entries,
                                                std::string own, Rank root, std::size_t piece_bytes);

}  // namespace det::collectives
