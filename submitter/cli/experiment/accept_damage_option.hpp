#pragma once
#include "command.hpp"

namespace det::cli {

/// The option --accept-damage of the commands that rest on all journals of an experiment. A command that has
/// it calls experiment::accept_journal_damage() first.
inline Option accept_damage_option(bool* accepts_damage) {
    return {"--accept-damage", accepts_damage, "go on without the records that damaged journals lack"};
}

}  // namespace det::cli
