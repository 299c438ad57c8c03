#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <memory>

namespace det::core {

struct ContextData;

/// Which ranks call should_preempt(), and how they get the answer. The modes are those of Determined.
enum class PreemptMode : std::uint8_t {
    workers_ask_chief,   // all ranks call at the same steps and get the same answer
    chief_only,          // only the chief calls; the program itself must inform the other ranks
    workers_ask_master,  // each rank may call at any time and sees the notice of its node; answers may differ
};

/// Preemption: tells the training loop when to save and exit. Obtained from Context::preempt(). Not
/// thread-safe.
class Preempt {
public:
    enum class Acknowledge : std::uint8_t { at_once, later };

    explicit Preempt(ContextData& data, PreemptMode mode = PreemptMode::workers_ask_chief);
    ~Preempt();
    Preempt(Preempt const&) = delete;
    Preempt& operator=(Preempt const&) = delete;

    /// Returns true if the program should save a checkpoint and return 0 from main. After the first true, all
    /// later calls return true. Cheap enough for every step: within a node the ranks exchange their states
    /// through shared memory, between nodes by messages of 8 bytes.
    ///
    /// With workers_ask_chief it is collective: all ranks must call it the same number of times. Call k
    /// returns true on all ranks if the first rank of a node (on one node: any rank) had the notice when it
    /// began its call k-1 or an earlier one, or if all ranks had it when they began call k. More than 64
    /// ranks on several nodes get the answer one call later. A call waits only for ranks that are more than
    /// one call behind; on a rank with a notice it waits for all ranks that are behind. On several nodes the
    /// first call blocks until all ranks have called it.
    ///
    /// \param acknowledge at_once: at the first true the chief records the acknowledgement in its journal.
    ///     later: the caller calls acknowledge().
    /// \return the answer, or an Error if a rank is lost, as in any collective.
    Result<bool> should_preempt(Acknowledge acknowledge = Acknowledge::at_once);

    /// Records that the program exits because of the preemption, so that the trial is resumed and does not
    /// count as finished. Further calls have no effect. On ranks other than the chief and outside of an
    /// experiment it does nothing. Not collective.
    Status acknowledge();

private:
    struct Peers;
    Result<bool> ask();
    Result<bool> agree();
    Status note_first_step();

    ContextData& data_;
    PreemptMode mode_;
    std::unique_ptr<Peers> peers_;  // created by the first call
    bool has_begun_ = false;
};

}  // namespace det::core
