#pragma once
#include <det/foundation/files.hpp>

#include <csignal>
#include <initializer_list>
#include <optional>
#include <sys/signalfd.h>

namespace det::loopback {

/// A signalfd. The signals stay blocked in the calling thread until the destructor runs.
class SignalReader {
public:
    explicit SignalReader(std::initializer_list<int> signals);
    ~SignalReader();
    SignalReader(SignalReader const&) = delete;
    SignalReader& operator=(SignalReader const&) = delete;

    int fd() const { return fd_.get(); }
    /// Returns the next pending signal, or nullopt. Does not block.
    std::optional<signalfd_siginfo> take() const;

private:
    sigset_t before_{};
    UniqueFd fd_;
};

}  // namespace det::loopback
