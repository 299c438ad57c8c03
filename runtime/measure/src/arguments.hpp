#pragma once

#include <string>

#include "operation.hpp"

namespace det::measure {

enum class Form { table, json };
enum class Memory { shared, plain };
enum class Peer { none, mpi };

/// The parsed command line of `det-bench collectives`.
struct CollectivesArguments {
    std::vector<std::size_t> sizes_bytes;
    std::vector<Operation> operations;
    collectives::DataType type = collectives::DataType::float32;
    std::optional<std::uint32_t> iterations;  // nullopt: depends on the size
    std::string transport;                    // empty: the same choice as in a training
    std::optional<int> ranks;  // number of ranks to start; nullopt: a launcher has started them
    Memory memory = Memory::shared;
    Peer peer = Peer::none;
    Form form = Form::table;
    bool asks_for_help = false;  // --help was given
};

/// codes::usage, with the option and a hint, if the command line is wrong. Pure.
Result<CollectivesArguments> parse_collectives(std::vector<std::string> const& words);

/// Parses sizes in bytes: "4:64M" doubles from 4 B to 64 MiB at most, "4:64M:8" multiplies by 8, "4,1K,1M" is
/// a list. codes::usage if the text is neither.
Result<std::vector<std::size_t>> parse_sizes(std::string_view text);

/// The default number of iterations for an operation of this size.
std::uint32_t iterations_for(std::size_t size_bytes);

}  // namespace det::measure
