#pragma once
#include <string>

#include "agreement.hpp"

namespace det::collectives {

/// A byte string in an agreement message: its size, and its bytes if it is small.
struct Entry {
    std::uint64_t size = 0;
    std::span<std::byte const> bytes;  // all bytes or none
    bool is_whole() const { return bytes.size() == size; }
};

/// The largest value that is sent in the agreement if `values` ranks contribute one each.
std::size_t whole_limit(std::size_t small_limit_bytes, int values);
/// The maximum payload of an agreement of `ranks` ranks.
std::size_t entries_limit(std::size_t small_limit_bytes, int ranks);

/// Appends an entry. Does nothing if the message already reports a failure.
void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes);
/// Reads exactly `count` entries.
Result<std::vector<Entry>> read_entries(Message const& message, std::size_t whole_limit_bytes, int count);

/// A string with the size of the entry, and its bytes if the entry contains them.
std::string begin_value(Entry const& entry);
transport::MutableBytes memory_of(std::string& value);

/// Merges entries so that they are in rank order.
void merge_entries(Message& mine, Message const& theirs, Side theirs_is);

/// Completes the values of all ranks on all ranks. Values that are not in the entries are sent around a ring.
Result<std::vector<std::string>> spread_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string const& own, std::size_t piece_bytes);
/// The same on rank `root` only. Returns an empty vector on other ranks.
Result<std::vector<std::string>> collect_values(Channel channel, std::vector<Entry> const& entries,
                                                std::string own, Rank root, std::size_t piece_bytes);

}  // namespace det::collectives
