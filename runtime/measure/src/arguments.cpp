#include "arguments.hpp"

#include <det/command_line/options.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace det::measure {
namespace {

using collectives::DataType;

constexpr std::size_t size_limit_bytes = std::size_t{1} << 36;

Error usage(std::string message, std::string hint = {}) {
    return {codes::usage, std::move(message), std::move(hint)};
}

/// Parses a size like "64M".
std::optional<std::size_t> parse_size(std::string_view text) {
    std::size_t factor = 1;
    constexpr std::string_view letters = "KMG";
    if (!text.empty()) {
        if (auto const at = letters.find(text.back()); at != std::string_view::npos) {
            factor = std::size_t{1} << (10 * (at + 1));
            text.remove_suffix(1);
        }
    }
    auto const number = parse_integer<std::size_t>(text);
    if (!number || *number == 0 || *number > size_limit_bytes / factor) return std::nullopt;
    return *number * factor;
}

Result<std::size_t> require_size(std::string_view text) {
    if (auto const size = parse_size(text)) return *size;
    return usage(fmt::format("'{}' is no size", text),
                 "sizes are numbers of bytes up to 64G: --sizes 4:64M, --sizes 1K,1M");
}

template <class Rows>
std::vector<std::string> names_of(Rows const& rows, auto name) {
    std::vector<std::string> names;
    for (auto const& row : rows) names.emplace_back(name(row));
    return names;
}

Result<std::vector<Operation>> parse_operations(std::string const& text) {
    if (text == "all") return all_operations();
    std::vector<Operation> operations;
    for (auto const name : split(text, ',')) {
        auto const operation = find_operation(name);
        if (!operation) {
            auto const known = names_of(all_operations(), [](auto const& each) { return each.name; });
            return usage(fmt::format("there is no operation '{}'", name),
                         fmt::format("--op is all, or some of {}", fmt::join(known, ", ")));
        }
        operations.push_back(*operation);
    }
    return operations;
}

}  // namespace

Result<std::vector<std::size_t>> parse_sizes(std::string_view text) {
    std::vector<std::size_t> sizes;
    if (text.find(':') == std::string_view::npos) {
        for (auto const each : split(text, ',')) {
            DET_TRY_ASSIGN(auto const size, require_size(each));
            sizes.push_back(size);
        }
        return sizes;
    }
    auto const ends = split(text, ':');
    if (ends.size() > 3)
        return usage(fmt::format("'{}' is no range of sizes", text), "a range is FROM:TO or FROM:TO:FACTOR");
    DET_TRY_ASSIGN(auto const from, require_size(ends[0]));
    DET_TRY_ASSIGN(auto const to, require_size(ends[1]));
    std::size_t factor = 2;
    if (ends.size() == 3) {
        DET_TRY_ASSIGN(factor, require_size(ends[2]));
    }
    if (from > to || factor < 2) {
        return usage(fmt::format("'{}' has no sizes in it", text),
                     "a range goes up, by a factor of 2 or more: 4:64M");
    }
    sizes.push_back(from);
    while (sizes.back() <= to / factor) sizes.push_back(sizes.back() * factor);
    return sizes;
}

std::uint32_t iterations_for(std::size_t size_bytes) {
    struct Row {
        std::size_t size_to_bytes;
        std::uint32_t iterations;
    };
    constexpr Row rows[] = {
        {std::size_t{8} << 10, 2000}, {std::size_t{256} << 10, 500}, {std::size_t{4} << 20, 100}};
    for (auto const& row : rows) {
        if (size_bytes <= row.size_to_bytes) return row.iterations;
    }
    return 20;
}

Result<CollectivesArguments> parse_collectives(std::vector<std::string> const& words) {
    CollectivesArguments arguments;
    bool is_json = false;
    std::string sizes = "4:64M", operations = "allreduce", memory = "shared", peer;
    auto const types =
        names_of(collectives::reducible_types, [](DataType type) { return collectives::name_of(type); });
    std::string type(collectives::name_of(arguments.type));
    auto parsed = command_line::parse(
        {{.names = "--sizes", .target = &sizes},
         {.names = "--op", .target = &operations},
         {.names = "--dtype", .target = &type, .choices = types},
         {.names = "--iterations", .target = &arguments.iterations, .accepted_range = {{1, 1'000'000}}},
         {.names = "--memory", .target = &memory, .choices = {"shared", "plain"}},
         {.names = "--transport", .target = &arguments.transport, .choices = {"tcp", "ucx", "mpi"}},
         {.names = "--ranks", .target = &arguments.ranks, .accepted_range = {{1, 1024}}},
         {.names = "--peer", .target = &peer, .choices = {"mpi"}},
         {.names = "--json", .target = &is_json}},
        words);
    if (!parsed) return usage(parsed.error().message, "det-bench collectives --help lists the options");
    DET_TRY_ASSIGN(arguments.sizes_bytes, parse_sizes(sizes));
    DET_TRY_ASSIGN(arguments.operations, parse_operations(operations));
    auto const index = std::ranges::find(types, type) - types.begin();
    arguments.type = collectives::reducible_types[static_cast<std::size_t>(index)];
    arguments.memory = memory == "plain" ? Memory::plain : Memory::shared;
    arguments.peer = peer.empty() ? Peer::none : Peer::mpi;
    arguments.form = is_json ? Form::json : Form::table;
    arguments.asks_for_help = parsed->asks_for_help;
    if (arguments.ranks && !arguments.transport.empty()) {
        return usage("ranks that are started here use shared memory only",
                     "leave out --transport, or start the ranks by mpirun or srun");
    }
    return arguments;
}

}  // namespace det::measure
