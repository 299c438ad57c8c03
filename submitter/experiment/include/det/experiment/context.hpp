#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/environment.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/slurm/client.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace det::tracker::history {
class History;
class JournalHistory;
}  // namespace det::tracker::history

namespace det::experiment {

/// The root of another user, which commands only read.
struct ForeignRoot {
    RootLayout root;
    uid_t owner;
    std::string owner_name;
};

/// Holds what every use case needs. Each program derives a class from it that receives the warnings and
/// messages of the use cases; det-submit prints them.
class Context {
public:
    Context(Environment environment_of_user, Clock& clock_used, slurm::SlurmClient& client,
            std::filesystem::path cache_directory);
    virtual ~Context() = default;

    /// Called while an operation runs. The operation continues after these warnings.
    virtual void on_warnings(Diagnostics const& warnings) const = 0;
    /// Called while an operation runs, with one line of text.
    virtual void on_message(std::string const& line) const = 0;

    /// Called while an operation reads a damaged journal, with codes::journal_damaged. The operation
    /// continues with what is left of the journal.
    virtual void on_damage(Error error) const { warn(std::move(error)); }

    void warn(Error error) const;
    /// Opens the records for a command that only reads: by `make_history` if it is set, else the journals, of
    /// which damaged ones are read as far as possible.
    std::shared_ptr<tracker::history::History> open_history(RootLayout const& root) const;
    /// Opens the journals for a command that only reads.
    /// \pre This context outlives the result.
    std::shared_ptr<tracker::history::JournalHistory> open_journals(RootLayout const& root) const;

    Environment environment;
    Clock& clock;
    slurm::SlurmClient& slurm;
    std::function<std::shared_ptr<tracker::history::History>(RootLayout const&)> make_history = {};
    std::optional<ForeignRoot> foreign_root = {};  // set: reading commands show it in place of the user's own
    /// The cluster's settings as query_cluster_config() has found them, and when.
    struct KnownClusterConfig {
        UtcTime time;
        slurm::ClusterConfig config;
    };
    std::optional<KnownClusterConfig> known_cluster_config = {};
    std::filesystem::path cache;  // directory of this user's cache on this host; empty: nothing is cached
    std::shared_ptr<ExperimentPlaces const> places;  // where the files of packed experiments are read
    bool shows_packed = true;  // false: a packed experiment is an error for find_shown_root()
};

/// Returns the login name of this user.
std::string user_name(Environment const& environment);
/// Returns "user@host", the author of the events that this process writes.
std::string event_author(Environment const& environment);

}  // namespace det::experiment
