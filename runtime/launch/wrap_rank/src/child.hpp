#pragma once
#include <det/foundation/files.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <sys/types.h>

namespace det::launch::wrap_rank {

struct Pipe {
    UniqueFd read_end, write_end;
};
Result<Pipe> make_pipe();

/// The command as our child: it does not outlive us, however we end.
class Child {
public:
    static Result<Child> start(RelayedCommand const& command, Pipe const& out, Pipe const& err);

    void signal(int number) const;
    /// A signal from the terminal's keys: a child in our group has it already.
    void signal_by_terminal(int number) const;

    /// What waitpid says of it; nothing while it runs.
    std::optional<int> poll_status() const;

private:
    enum class Group { own, ours };

    Child(pid_t pid, Group group) : pid_(pid), group_(group) {}
    /// Between fork and exec: only calls that are safe there.
    [[noreturn]] static void become(RelayedCommand const& command, Group group, pid_t parent, Pipe const& out,
                                    Pipe const& err, char* const* argv, char* const* variables);

    pid_t pid_;
    Group group_;
};

}  // namespace det::launch::wrap_rank
