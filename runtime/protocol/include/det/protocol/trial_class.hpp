#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace det {

/// Whether an entrypoint is the name of one of Determined's trial classes ("model_def:MyTrial") rather than a
/// command.
bool is_trial_class(std::string_view entrypoint);

/// Whether a command starts a trial class by a launcher:
/// `python3 -m determined.launch.horovod --trial model_def:MyTrial`, `det-launch horovod --trial ...`. A
/// `--trial` after the name of a script is an option of the script.
bool launches_trial_class(std::span<std::string const> command);

/// How an entrypoint starts a trial class.
enum class TrialClassLaunch : std::uint8_t { none, by_name, by_launcher, by_deepspeed };

/// \param entrypoint a trial class, a command, or `{"bash", "-c", script}`, whose script is examined
TrialClassLaunch find_trial_class_launch(std::span<std::string const> entrypoint);

}  // namespace det
