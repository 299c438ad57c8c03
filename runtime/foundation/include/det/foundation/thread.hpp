#pragma once
#include <functional>
#include <thread>

namespace det {

/// How threads of ours begin: with a name of at most 15 characters, which ps and gdb show, and with all
/// signals blocked, because those are for the threads that the program knows of. Throws std::system_error
/// where there is no thread to be had.
std::jthread start_thread(char const* name, std::function<void(std::stop_token const&)> body);

}  // namespace det
