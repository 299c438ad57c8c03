#include <det/foundation/text.hpp>
#include <det/measure/arguments.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::measure {
namespace {

using collectives::DataType;

constexpr std::size_t size_limit_bytes = std::size_t{1} << 36;
constexpr std::uint32_t iterations_limit = 1'000'000;
constexpr int ranks_limit = 1024;

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

template <class Names>
std::string list(Names const& names) {
    std::string text;
    for (auto const& name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

std::vector<std::string_view> type_names() {
    std::vector<std::string_view> names;
    for (auto const type : collectives::reducible_types) names.push_back(name_of(type));
    return names;
}

std::vector<std::string_view> operation_names() {
    std::vector<std::string_view> names;
    for (auto const& operation : all_operations()) names.push_back(operation.name);
    return names;
}

Status set_sizes(CollectivesArguments& arguments, std::string const& value) {
    DET_TRY_ASSIGN(arguments.sizes_bytes, parse_sizes(value));
    return Ok{};
}

Status set_operations(CollectivesArguments& arguments, std::string const& value) {
    arguments.operations.clear();
    if (value == "all") arguments.operations = all_operations();
    if (value == "all") return Ok{};
    for (auto const name : split(value, ',')) {
        auto const operation = find_operation(name);
        if (!operation) {
            return usage(fmt::format("there is no operation '{}'", name),
                         "--op is all, or some of " + list(operation_names()));
        }
        arguments.operations.push_back(*operation);
    }
    return Ok{};
}

Status set_type(CollectivesArguments& arguments, std::string const& value) {
    auto const& types = collectives::reducible_types;
    auto const* const type =
        std::ranges::find(types, value, [](auto candidate) { return name_of(candidate); });
    if (type == types.end())
        return usage(fmt::format("there is no type '{}'", value), "--dtype is one of " + list(type_names()));
    arguments.type = *type;
    return Ok{};
}

Status set_iterations(CollectivesArguments& arguments, std::string const& value) {
    arguments.iterations = parse_integer<std::uint32_t>(value);
    if (arguments.iterations && *arguments.iterations > 0 && *arguments.iterations <= iterations_limit)
        return Ok{};
    return usage(fmt::format("--iterations is '{}'", value),
                 fmt::format("give a number up to {}", iterations_limit));
}

Status set_ranks(CollectivesArguments& arguments, std::string const& value) {
    arguments.ranks = parse_integer<int>(value);
    if (arguments.ranks && *arguments.ranks > 0 && *arguments.ranks <= ranks_limit) return Ok{};
    return usage(fmt::format("--ranks is '{}'", value), fmt::format("give a number up to {}", ranks_limit));
}

Status set_transport(CollectivesArguments& arguments, std::string const& value) {
    arguments.transport = value;
    if (value == "ucx" || value == "mpi" || value == "tcp") return Ok{};
    return usage(fmt::format("there is no transport '{}'", value), "--transport is tcp, ucx or mpi");
}

Status set_memory(CollectivesArguments& arguments, std::string const& value) {
    arguments.memory = value == "plain" ? Memory::plain : Memory::shared;
    if (value == "plain" || value == "shared") return Ok{};
    return usage(fmt::format("there is no memory '{}'", value), "--memory is shared or plain");
}

Status set_peer(CollectivesArguments& arguments, std::string const& value) {
    arguments.peer = Peer::mpi;
    if (value == "mpi") return Ok{};
    return usage(fmt::format("there is no peer '{}'", value), "--peer is mpi");
}

struct Option {
    std::string_view name;
    Status (*set)(CollectivesArguments&, std::string const& value);
};
constexpr Option options[] = {
    {"--sizes", set_sizes},           {"--op", set_operations}, {"--dtype", set_type},
    {"--iterations", set_iterations}, {"--ranks", set_ranks},   {"--transport", set_transport},
    {"--memory", set_memory},         {"--peer", set_peer},
};

Option const* find_option(std::string_view name) {
    auto const* const found = std::ranges::find(options, name, &Option::name);
    return found == std::end(options) ? nullptr : found;
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
    DET_TRY(set_sizes(arguments, "4:64M"));
    DET_TRY(set_operations(arguments, "allreduce"));
    for (std::size_t i = 0; i < words.size(); ++i) {
        auto const& word = words[i];
        if (word == "--json") {
            arguments.form = Form::json;
            continue;
        }
        auto const equals = std::min(word.find('='), word.size());
        auto const* option = find_option(std::string_view(word).substr(0, equals));
        if (option == nullptr) {
            return usage(fmt::format("there is no option '{}'", word),
                         "det-bench collectives --help lists them");
        }
        bool const is_in_word = equals < word.size();
        if (!is_in_word && ++i == words.size()) return usage(fmt::format("{} needs a value", word));
        DET_TRY(option->set(arguments, is_in_word ? word.substr(equals + 1) : words[i]));
    }
    if (arguments.ranks && !arguments.transport.empty()) {
        return usage("ranks that are started here talk through shared memory alone",
                     "leave out --transport, or start the ranks by mpirun or srun");
    }
    return arguments;
}

}  // namespace det::measure
