#pragma once
#include <string>

#include "agreement.hpp"

namespace det::collectives {

/// A byte string as an agreement carries it: its size, and its bytes if they are small.
struct Entry {
    std::uint64_t size = 0;
    std::span<std::byte const> bytes;  // all of them or none
    bool is_whole() const { return bytes.size() == size; }
};

/// The largest value that travels whole when each of `values` ranks contributes one.
std::size_t whole_limit(std::size_t small_limit_bytes, int values);
/// What an agreement of `ranks` needs room for at most.
std::size_t entries_limit(std::size_t small_limit_bytes, int ranks);

/// Nothing where the message tells of a failure already.
void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes);
/// Exactly `count` of them.
Result<std::vector<Entry>> read_entries(Message const& message, std::size_t whole_limit_bytes, int count);

/// A string of the entry's size, with its bytes where they came along.
std::string begin_value(Entry const& entry);
transport::MutableBytes memory_of(std::string& value);

/// Entries of all ranks in rank order.
void merge_entries(Message& mine, Message const& theirs, Side theirs_is);

/// Rank by rank what the entries announced: those that are not whole go round a ring.
Result<std::vector<std::string>> spread_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string const& own, std::size_t piece_bytes);
/// The same on `root` alone; nothing elsewhere.
Result<std::vector<std::string>> collect_values(Channel channel, std::vector<Entry> const& entries,
                                                std::string own, Rank root, std::size_t piece_bytes);

}  // namespace det::collectives
