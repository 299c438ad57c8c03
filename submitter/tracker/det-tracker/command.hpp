#pragma once
#include <det/command_line/options.hpp>
#include <det/experiment/context.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/exit_code.hpp>
#include <det/tracker/client/tracker_paths.hpp>

#include <iosfwd>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace det::tracker::program {

/// What a command gets from main.
struct Session final : experiment::Context {
    Session(Environment environment_of_user, std::ostream& answers, std::ostream& messages, Clock& clock_used,
            slurm::SlurmClient& client, std::filesystem::path cache_directory);

    void on_warnings(Diagnostics const& warnings) const override;
    void on_message(std::string const& line) const override;
    /// Prints JSON if --json was given, else the text.
    void answer(JsonValue const& json, std::string_view text) const;

    std::ostream& out;
    std::ostream& err;
    bool wants_json = false;
};

using Outcome = Result<ExitCode, Diagnostics>;
using command_line::Option;

/// A command of det-tracker. Its options() point at its members, which are set before run() is called.
class Command {
public:
    virtual ~Command() = default;
    virtual std::vector<Option> options() = 0;
    virtual Outcome run(Session& session) = 0;
};

/// A row of the table of commands. Its source and its page are <name>.cpp and <name>.md.
struct CommandEntry {
    std::string_view name;
    std::string_view summary;
    std::unique_ptr<Command> (*make)();
};
std::span<CommandEntry const> command_table();

// make_<name> is in <name>.cpp.
std::unique_ptr<Command> make_check();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_rebuild();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_start();
std::unique_ptr<Command> make_status();
std::unique_ptr<Command> make_stop();

/// The root of the experiments, and the files of its tracker on this host.
struct Tracker {
    RootLayout root;
    client::TrackerPaths paths;
};
Result<Tracker> prepare_tracker_location(Environment const& environment);

/// Makes this process the only one that writes the index. Fails if a tracker runs.
Result<client::TrackerLock> lock_index(Tracker const& tracker);

/// Returns the page of a command; empty if it has none.
std::string_view find_page(std::string_view name);

}  // namespace det::tracker::program
