#pragma once
#include <det/foundation/files.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <sys/types.h>

namespace det::launch::wrap_rank {

struct Pipe {
    UniqueFd read_end, write_end;
};
Result<Pipe> make_pipe();

/// The command as a child process. It is killed when this process ends, however it ends.
class Child {
public:
    static Result<Child> start(RelayedCommand const& command, Pipe const& out, Pipe const& err);

    void signal(int number) const;
    /// Forwards a signal of the terminal's keys, unless the child is in our group and has it already.
    void signal_by_terminal(int number) const;

    /// The status of waitpid(2); empty while it runs.
    std::optional<int> poll_status() const;

private:
    enum class Group { own, ours };

    Child(pid_t pid, Group group) : pid_(pid), group_(group) {}
    /// Runs between fork and exec: only async-signal-safe calls.
    [[noreturn]] static void exec_command(RelayedCommand const& command, Group group, pid_t parent,
                                          Pipe const& out, Pipe const& err, char* const* argv,
                                          char* const* variables);

    pid_t pid_;
    Group group_;
};

}  // namespace det::launch::wrap_rank
