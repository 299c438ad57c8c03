#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <sys/signalfd.h>

// What loops around poll(2) need: timeouts, and signals as a descriptor.
namespace det {

/// The timeout for a poll(2) that returns at the deadline. Rounded up, so that poll(2) does not return before
/// it; -1, without limit, if there is no deadline. At most the largest int, which is 24 days.
int poll_timeout_ms(std::optional<std::chrono::steady_clock::time_point> deadline,
                    std::chrono::steady_clock::time_point now);

sigset_t signal_set(std::initializer_list<int> signals);

/// Signals as a descriptor to poll. open() blocks them in the calling thread; threads and programs that this
/// thread starts inherit the mask, unless a program is started with another one (SpawnSettings::block).
class SignalReader {
public:
    enum class AtEnd { restore_mask, stay_blocked };

    /// \param at_end what the destructor does. With restore_mask it drops the pending signals first, because
    ///   they could end the process once they are no longer blocked.
    static Result<SignalReader> open(sigset_t const& signals, AtEnd at_end = AtEnd::restore_mask);
    SignalReader(SignalReader&&) noexcept = default;
    SignalReader& operator=(SignalReader&&) = delete;
    ~SignalReader();

    int fd() const { return fd_.get(); }
    sigset_t const& mask_before() const { return before_; }
    /// Returns the next pending signal, or nullopt. Does not block.
    std::optional<signalfd_siginfo> take() const;

private:
    SignalReader(UniqueFd fd, sigset_t const& before, AtEnd at_end)
        : fd_(std::move(fd)), before_(before), at_end_(at_end) {}

    UniqueFd fd_;
    sigset_t before_;
    AtEnd at_end_;
};

}  // namespace det
