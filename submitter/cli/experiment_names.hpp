#pragma once
#include "command.hpp"

namespace det::cli {

/// Replaces the names of experiments in the arguments of a command by their ids, wherever the command takes
/// experiments or trials (value_kind.hpp): `last`, the newest experiment, and the name of exactly one
/// experiment; for trials also with `.TRIAL` behind it. Numbers are ids and stay as they are.
/// Where a command takes files too, a word that is no experiment's name stays as it is.
/// codes::no_such_experiment if there is no such name, codes::usage if several experiments have it.
Status replace_experiment_names(CommandEntry const& entry, Command& command, Session& session);

}  // namespace det::cli
