#include <det/protocol/launch_options.hpp>

#include <array>
#include <utility>

namespace det {
namespace {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<Launch, 2> launch_names{{{Launch::node, "node"}, {Launch::rank, "rank"}}};
constexpr Names<Mpi, 3> mpi_names{{{Mpi::none, "none"}, {Mpi::pmix, "pmix"}, {Mpi::pmi2, "pmi2"}}};
constexpr Names<LogAction, 3> log_action_names{{{LogAction::cancel_retries, "cancel_retries"},
                                                {LogAction::exclude_node, "exclude_node"},
                                                {LogAction::label, "label"}}};
constexpr Names<SlotType, 3> slot_type_names{
    {{SlotType::cpu, "cpu"}, {SlotType::cuda, "cuda"}, {SlotType::rocm, "rocm"}}};

constexpr Names<WorkingDirectory, 2> working_directory_names{
    {{WorkingDirectory::node_local, "node-local"}, {WorkingDirectory::shared, "shared"}}};

template <class E, std::size_t N>
std::string_view name_of(Names<E, N> const& names, E value) {
    for (auto const& [candidate, name] : names) {
        if (candidate == value) return name;
    }
    return "?";
}

template <class E, std::size_t N>
std::optional<E> find_named(Names<E, N> const& names, std::string_view text) {
    for (auto const& [value, name] : names) {
        if (name == text) return value;
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(LogAction action) { return name_of(log_action_names, action); }
std::optional<LogAction> parse_log_action(std::string_view text) {
    return find_named(log_action_names, text);
}
std::string_view to_string(Launch launch) { return name_of(launch_names, launch); }
std::string_view to_string(Mpi mpi) { return name_of(mpi_names, mpi); }
std::string_view to_string(SlotType type) { return name_of(slot_type_names, type); }
std::string_view to_string(WorkingDirectory directory) { return name_of(working_directory_names, directory); }
std::optional<WorkingDirectory> parse_working_directory(std::string_view text) {
    return find_named(working_directory_names, text);
}
std::optional<Launch> parse_launch(std::string_view text) { return find_named(launch_names, text); }
std::optional<Mpi> parse_mpi(std::string_view text) { return find_named(mpi_names, text); }
std::optional<SlotType> parse_slot_type(std::string_view text) { return find_named(slot_type_names, text); }

}  // namespace det
