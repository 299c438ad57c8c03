#pragma once
#include <optional>
#include <string_view>

namespace det {

/// Who starts the ranks of a trial.
enum class Launch {
    node,  // the entrypoint runs once per node and starts them itself (Determined's way)
    rank,  // srun starts one task per slot
};

/// What gives MPI programs their peers when srun starts them.
enum class Mpi { none, pmix, pmi2 };

enum class SlotType { cpu, cuda, rocm };

/// What a line of the log that matches a policy means for the trial's next run.
enum class LogAction { cancel_retries, exclude_node };

std::string_view to_string(LogAction action);
std::optional<LogAction> parse_log_action(std::string_view text);
std::string_view to_string(Launch launch);
std::string_view to_string(Mpi mpi);
std::string_view to_string(SlotType type);
std::optional<Launch> parse_launch(std::string_view text);
std::optional<Mpi> parse_mpi(std::string_view text);
std::optional<SlotType> parse_slot_type(std::string_view text);

}  // namespace det
