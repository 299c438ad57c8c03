#pragma once
#include <functional>
#include <thread>

namespace det {

/// Starts a thread with a name of at most 15 characters (shown by ps and gdb). All signals are blocked in it,
/// so that they are delivered to the threads of the host program. Throws std::system_error if the thread
/// can't be created.
std::jthread start_thread(char const* name, std::function<void(std::stop_token const&)> body);

}  // namespace det
