#pragma once
#include <det/collectives/call.hpp>

#include <functional>
#include <vector>

#include "run_schedule.hpp"

namespace det::collectives {

/// The first bytes of each message of an agreement.
struct Head {
    std::uint32_t magic = magic_value;
    Refusal refusal = Refusal::none;  // why the ranks whose messages are merged into this one do not agree
    Call call;
    std::int32_t rank = 0;           // the lowest of the ranks whose messages are merged into this one
    std::uint32_t reserved[3] = {};  // aligns the payload

    static constexpr std::uint32_t magic_value = 0x31544544;  // "DET1"
};
static_assert(sizeof(Head) % 16 == 0 && std::has_unique_object_representations_v<Head>);

/// A Head and a payload: data, or the reason of a failure. Allocates its memory once.
class Message {
public:
    explicit Message(std::size_t payload_limit_bytes) : storage_(sizeof(Head) + payload_limit_bytes) {}

    Head head() const;
    void set_head(Head const& head);
    bool is_agreed() const { return head().refusal == Refusal::none; }
    /// Replaces the payload by a reason, which is cut to the available space.
    void fail(std::string_view reason, Refusal refusal);
    std::string reason() const;
    /// The Error of a failure, the same on all ranks.
    Error error() const { return make_and_report_error(head().refusal, reason()); }

    std::span<std::byte> payload() { return memory().subspan(sizeof(Head), size_ - sizeof(Head)); }
    std::span<std::byte const> payload() const {
        return std::span(storage_).subspan(sizeof(Head), size_ - sizeof(Head));
    }
    void clear_payload() { size_ = sizeof(Head); }
    void append(std::span<std::byte const> bytes);
    void prepend(std::span<std::byte const> bytes);

    transport::Bytes bytes() const { return std::span(storage_).first(size_); }
    /// The memory to receive a message into; call set_size() afterwards.
    transport::MutableBytes memory() { return storage_; }
    Status set_size(std::size_t size, Rank from);

private:
    std::vector<std::byte> storage_;
    std::size_t size_ = sizeof(Head);
};

/// Merges another message into `mine`. Both ranks merge the same two messages, so the result must depend only
/// on which one comes from the lower ranks.
using Merge = std::function<void(Message& mine, Message const& theirs, Side theirs_is)>;

/// The schedule of an agreement: an allreduce of messages. For a single rank it has no steps.
Schedule agreement_schedule(Rank rank, int ranks);

/// Runs the schedule of an agreement. Returns Ok also if the ranks do not agree: the caller must then check
/// mine.is_agreed(). Afterwards `mine` holds the payloads of all ranks, merged in the same order on every
/// rank, or the reason of a failure, which is the same on every rank: two ranks differ in the call, or a rank
/// refuses it. `theirs` is scratch memory. Returns an Error only if the transport fails, for example if a
/// rank is lost.
Status agree(Channel channel, Schedule const& schedule, Message& mine, Message& theirs, Merge const& merge);

}  // namespace det::collectives
