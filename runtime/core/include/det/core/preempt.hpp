#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <memory>

namespace det::core {

struct Session;

/// Who asks for a notice, and who is told.
enum class PreemptMode : std::uint8_t {
    workers_ask_chief,   // every rank, at the same steps; all get the same answer
    chief_only,          // the chief alone, for what is on its own node; it tells the others in its own way
    workers_ask_master,  // each rank when it likes, for what is on its own node; answers differ
};

/// The wish that this trial gives up its nodes.
class Preempt {
public:
    enum class Acknowledge : std::uint8_t { at_once, later };

    explicit Preempt(Session& session, PreemptMode mode = PreemptMode::workers_ask_chief);
    ~Preempt();
    Preempt(Preempt const&) = delete;
    Preempt& operator=(Preempt const&) = delete;

    /// Whether to save and to return from main with 0: once true it stays so. Cheap enough for every step: no
    /// system call and, on a node, a line of memory.
    ///
    /// workers_ask_chief: the k-th call is true, on all ranks, if any of them had notice before its call k-1,
    /// or all of them before their call k. It waits for no rank but one that is more than one call behind, or
    /// where there is notice for any that is behind; a rank that is lost is an Error as in any collective.
    /// Between nodes the first call waits until all have come.
    ///
    /// At the first true the chief acknowledges in its journal.
    Result<bool> should_preempt(Acknowledge acknowledge = Acknowledge::at_once);

    /// From now on the end of the program is a pause to be resumed, not the end of the training. Once is
    /// enough; on other ranks than the chief it does nothing.
    Status acknowledge();

private:
    struct Peers;
    bool has_notice() const;
    Result<bool> ask();
    Result<bool> agree();
    Status note_first_step();

    Session& session_;
    PreemptMode mode_;
    std::unique_ptr<Peers> peers_;  // from the first call on
    bool has_begun_ = false;
    bool is_preempted_ = false;
    bool is_acknowledged_ = false;
};

}  // namespace det::core
