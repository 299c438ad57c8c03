#pragma once
#include <string>

#include "agreement.hpp"

namespace det::collectives {

/// A byte string in an agreement: its size, and its bytes if the string is small.
struct Entry {
    std::uint64_t size = 0;
    std::span<std::byte const> bytes;  // all bytes, or none
    bool is_whole() const { return bytes.size() == size; }
};

/// The size of the largest value that an agreement carries whole, if `values` ranks contribute one value
/// each.
std::size_t whole_value_limit_bytes(std::size_t small_limit_bytes, int values);
/// The largest payload, in bytes, of an agreement to which each of `ranks` ranks contributes a value.
std::size_t entries_limit_bytes(std::size_t small_limit_bytes, int ranks);

/// Appends an entry to the message. Does nothing if the message holds a failure.
void append_entry(Message& message, std::string const& value, std::size_t whole_limit_bytes);
/// Reads exactly `count` entries.
Result<std::vector<Entry>> read_entries(Message const& message, std::size_t whole_limit_bytes, int count);

/// Returns a string of the entry's size. It holds the value if the agreement carried the bytes.
std::string begin_value(Entry const& entry);
transport::MutableBytes memory_of(std::string& value);

/// Merges the entries of two messages in rank order.
void merge_entries(Message& mine, Message const& theirs, Side theirs_is);

/// Returns the values of all ranks. Values that the agreement did not carry are sent around a ring.
Result<std::vector<std::string>> allgather_values(Channel channel, std::vector<Entry> const& entries,
                                                  std::string const& own, std::size_t piece_bytes);
/// Returns the values of all ranks on rank `root`, to which ranks send the values that the agreement did not
/// carry. Other ranks get an empty vector.
Result<std::vector<std::string>> gather_values(Channel channel, std::vector<Entry> const& entries,
                                               std::string own, Rank root, std::size_t piece_bytes);

}  // namespace det::collectives
