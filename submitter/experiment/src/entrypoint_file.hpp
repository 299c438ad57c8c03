#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/submission_request.hpp>
#include <det/pack/context_tree.hpp>

#include <optional>
#include <span>
#include <string>

namespace det::experiment {

/// The file in the code that an entrypoint starts: "train.py" of `python3 train.py`, of `det-launch
/// torch_distributed -- python3 -u train.py` and so on, with a relative path. nullopt if the entrypoint
/// starts none for certain: a program on PATH, a module, an absolute path, a word that a shell expands,
/// several commands, or setup lines that may change the directory or make files. Pure.
std::optional<std::string> find_entrypoint_file(config::Entrypoint const& entrypoint,
                                                std::span<std::string const> setup);

/// Refuses an entrypoint whose file is certainly not in the code, with the nearest name: codes::no_such_file.
/// \param code empty: none is packed
Status check_entrypoint_file(SubmissionRequest const& request, pack::ContextTree const* code);

/// Refuses `det-launch NAME` where NAME is meant as a launcher and det-launch has none of that name:
/// codes::bad_value. Pure.
Status check_launcher(config::ExperimentConfig const& config);

/// "3 files, 1.2 KiB; left out: .venv, 2 __pycache__". Pure.
std::string describe_code(pack::ContextTree const& code);

}  // namespace det::experiment
