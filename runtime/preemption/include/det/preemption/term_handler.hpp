#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <memory>

namespace det::preemption {

/// Keeps Slurm's notice from ending a program that stops by itself: under proctrack/linuxproc every process
/// of a step gets the SIGTERM. While this object exists, a SIGTERM has these effects:
///
/// | process                   | TERM of Slurm              | TERM of another process                       |
/// |---------------------------|----------------------------|-----------------------------------------------|
/// | the one with this object  | the notice page is raised  | the default; none once the page is raised,    |
/// |                           |                            | because launchers then end their ranks        |
/// | a child that it has forked| none                       | the default                                   |
///
/// Programs that are executed have the default action. A handler that the program has installed, before or
/// later, stays. One object acts at a time; others that exist meanwhile do nothing.
class TermHandler {
public:
    /// \param page the notice page of the run
    static Result<std::unique_ptr<TermHandler>> install(std::filesystem::path const& page);
    TermHandler(TermHandler const&) = delete;
    TermHandler& operator=(TermHandler const&) = delete;
    /// Lets a child process ignore Slurm's TERM although it has installed a handler of its own, as a worker
    /// of torch's DataLoader does. That handler gets every other TERM. Does nothing in other processes.
    static void wrap_handler_of_child() noexcept;
    /// Restores the default action, if the handler is still this one.
    virtual ~TermHandler() = default;

protected:
    TermHandler() = default;
};

}  // namespace det::preemption
