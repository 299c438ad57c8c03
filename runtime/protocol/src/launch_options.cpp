#include <det/protocol/launch_options.hpp>

#include "enum_names.hpp"

namespace det {
namespace {

constexpr EnumNames<3> log_action_names{"cancel_retries", "exclude_node", "label"};
constexpr EnumNames<3> launch_names{"node", "rank", "script"};
constexpr EnumNames<4> slot_type_names{"cpu", "cuda", "rocm", "xpu"};
constexpr EnumNames<2> working_directory_names{"node-local", "shared"};

constexpr std::size_t mpi_name_size_max = 64;
constexpr std::string_view mpi_name_bytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

}  // namespace

bool is_mpi_name(std::string_view text) {
    return !text.empty() && text.size() <= mpi_name_size_max && text.front() != '-' && text != "list" &&
           text.find_first_not_of(mpi_name_bytes) == std::string_view::npos;
}

std::string_view to_string(LogAction action) { return name_in(log_action_names, action); }
std::string_view to_string(Launch launch) { return name_in(launch_names, launch); }
std::string_view to_string(SlotType type) { return name_in(slot_type_names, type); }
std::string_view to_string(WorkingDirectory directory) { return name_in(working_directory_names, directory); }

std::optional<LogAction> parse_log_action(std::string_view text) {
    return find_named<LogAction>(log_action_names, text);
}
std::optional<Launch> parse_launch(std::string_view text) { return find_named<Launch>(launch_names, text); }
std::optional<SlotType> parse_slot_type(std::string_view text) {
    return find_named<SlotType>(slot_type_names, text);
}
std::optional<WorkingDirectory> parse_working_directory(std::string_view text) {
    return find_named<WorkingDirectory>(working_directory_names, text);
}

}  // namespace det
