#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/environment.hpp>
#include <det/slurm/client.hpp>

#include <filesystem>
#include <string>

namespace det::experiment {

/// What the use cases work with. The command line derives from it and prints what they have to tell.
class Context {
public:
    Context(Environment environment_of_user, Clock& clock_used, slurm::SlurmClient& client,
            std::filesystem::path cache_directory)
        : environment(std::move(environment_of_user)),
          clock(clock_used),
          slurm(client),
          cache(std::move(cache_directory)) {}
    virtual ~Context() = default;

    /// Called while an operation runs: it continues in spite of these.
    virtual void on_warnings(Diagnostics const& warnings) const = 0;
    /// Called while an operation runs, with one line of text.
    virtual void on_message(std::string const& line) const = 0;

    void warn(Error error) const;

    Environment environment;
    Clock& clock;
    slurm::SlurmClient& slurm;
    std::filesystem::path cache;  // of this user on this host; empty: nothing is cached
};

/// The login name of this user.
std::string user_name(Environment const& environment);
/// "user@host": the author of an event.
std::string event_author(Environment const& environment);

}  // namespace det::experiment
