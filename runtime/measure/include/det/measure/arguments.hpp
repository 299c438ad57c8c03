#pragma once
#include <det/measure/operation.hpp>

#include <string>

namespace det::measure {

enum class Form { table, json };
enum class Memory { shared, plain };
enum class Peer { none, mpi };

/// The command line of `det-bench collectives`.
struct CollectivesArguments {
    std::vector<std::size_t> sizes_bytes;
    std::vector<Operation> operations;
    collectives::DataType type = collectives::DataType::float32;
    std::optional<std::uint32_t> iterations;  // nothing: by size
    std::string transport;                    // empty: as training would have it
    std::optional<int> ranks;                 // to be started here; nothing: the launcher has
    Memory memory = Memory::shared;
    Peer peer = Peer::none;
    Form form = Form::table;
};

/// codes::usage names the option and what it may be. Pure.
Result<CollectivesArguments> parse_collectives(std::vector<std::string> const& words);

/// "4:64M" doubles from 4 bytes on, "4:64M:8" takes every eighth, "4,1K,1M" is a list.
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

/// How often an operation of this size is done where nobody says.
std::uint32_t iterations_for(std::size_t size_bytes);

}  // namespace det::measure
