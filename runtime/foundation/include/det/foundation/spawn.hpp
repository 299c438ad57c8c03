#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/result.hpp>

#include <csignal>
#include <spawn.h>
#include <sys/types.h>
#include <vector>

namespace det {

/// What is arranged for a program that is started beside us; it inherits the rest.
class SpawnSettings {
public:
    SpawnSettings();
    ~SpawnSettings();
    SpawnSettings(SpawnSettings const&) = delete;
    SpawnSettings& operator=(SpawnSettings const&) = delete;

    /// These signals are blocked in it, and no others.
    void block(sigset_t const& signals);
    /// It does not ignore these because we do.
    void handle_by_default(sigset_t const& signals);
    /// One that it leads: who signals the group reaches what it starts too.
    void in_own_group();
    void connect(UniqueFd const& ours, int theirs);
    void without_input();

    posix_spawn_file_actions_t const* actions() const { return &actions_; }
    posix_spawnattr_t const* attributes() const { return &attributes_; }

private:
    void set_flag(short flag);

    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

/// Starts argv[0], looked up in PATH, and does not wait for it: that, and to reap it, is the caller's.
Result<pid_t> spawn(std::vector<std::string> const& argv, Environment const& environment,
                    SpawnSettings const& settings);

/// Readable once the process has ended; none, with errno, where there is no such process.
UniqueFd open_pidfd(pid_t pid);

}  // namespace det
