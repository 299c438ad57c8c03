#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/index/local_disk.hpp>

#include <array>
#include <ostream>

#include "command.hpp"

namespace det::tracker::program {
namespace {

constexpr std::array commands{
    CommandEntry{"check", "compare the index with the journals", make_check},
    CommandEntry{"export", "write the metrics of trials as CSV, JSON lines or event files", make_export},
    CommandEntry{"rebuild", "make the index anew from the journals", make_rebuild},
    CommandEntry{"serve", "serve the experiments over HTTP until stopped or unused", make_serve},
    CommandEntry{"start", "start a tracker in the background, unless one runs", make_start},
    CommandEntry{"status", "show whether a tracker runs, and where", make_status},
    CommandEntry{"stop", "stop the tracker", make_stop},
};

}  // namespace

std::span<CommandEntry const> command_table() { return commands; }

Session::Session(Environment environment_of_user, std::ostream& answers, std::ostream& messages,
                 Clock& clock_used, slurm::SlurmClient& client, std::filesystem::path cache_directory)
    : Context(std::move(environment_of_user), clock_used, client, std::move(cache_directory)),
      out(answers),
      err(messages) {}

void Session::on_warnings(Diagnostics const& warnings) const { print(err, warnings, {}); }
void Session::on_message(std::string const& line) const { err << line << std::endl; }

void Session::answer(JsonValue const& json, std::string_view text) const {
    if (wants_json) {
        out << to_lines(*json, 1) << '\n';
    } else {
        out << text;
    }
    out.flush();
}

Result<Tracker> prepare_tracker_location(Environment const& environment) {
    DET_TRY_ASSIGN(auto root, experiment::find_root(environment));
    DET_TRY_ASSIGN(auto paths, client::make_tracker_paths(environment, root));
    DET_TRY(index::require_local_disk(paths.index_directory,
                                      "set DET_INDEX_DIR to a directory on a disk of this host"));
    return Tracker{std::move(root), std::move(paths)};
}

Result<client::TrackerLock> lock_index(Tracker const& tracker) {
    DET_TRY_ASSIGN(auto lock, client::TrackerLock::try_take(tracker.paths));
    if (lock) return *std::move(lock);
    return Error{codes::wrong_state, "a tracker runs, and only one process may write its index",
                 "stop it first with 'det-tracker stop'"};
}

}  // namespace det::tracker::program
