#pragma once
#include <det/foundation/files.hpp>

#include <csignal>
#include <initializer_list>
#include <optional>
#include <sys/signalfd.h>

namespace det::loopback {

/// Signals as something to read: blocked while this lives, delivered through fd().
class SignalWatch {
public:
    explicit SignalWatch(std::initializer_list<int> signals);
    ~SignalWatch();
    SignalWatch(SignalWatch const&) = delete;
    SignalWatch& operator=(SignalWatch const&) = delete;

    int fd() const { return fd_.get(); }
    /// The next one that came; nothing where none is waiting.
    std::optional<signalfd_siginfo> take() const;

private:
    sigset_t before_{};
    UniqueFd fd_;
};

/// In a child, before exec: no signal blocked or ignored because we do.
void restore_default_signals();

}  // namespace det::loopback
