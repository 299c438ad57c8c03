#pragma once
#include <functional>
#include <string>

namespace det::liveness {

using LostPeerHandler = std::function<void(std::string const& message)>;

/// Sets the function that this process calls when it learns that another rank was lost. The handler records
/// the loss, so that the wrapper can record this rank's end as a consequence of the other rank's end. Each
/// copy of this library has one handler: a module that is opened at run time has its own copy (see
/// RankMonitor::report_loss). An empty handler removes the previous one. Thread-safe. The handler must not
/// call the functions of this header.
void set_lost_peer_handler(LostPeerHandler handler);

/// Calls the handler, on the calling thread. Called before the Error about the lost rank reaches the program,
/// which may end the process at once. Thread-safe.
/// \param message the Error's message, for example "rank 3 on n1 was lost: its process has ended"
void report_lost_peer(std::string const& message);

}  // namespace det::liveness
