#pragma once
#include <det/collectives/call.hpp>
#include <det/transport/transport.hpp>

#include <vector>

namespace det::collectives {

enum class Verdict : std::uint32_t { agreed, failed };
/// The kind of Error that all ranks return for a failure.
enum class Cause : std::uint32_t { misuse, lost_rank, timeout };

Cause cause_of(Error const& error);

/// The first bytes of each message of an agreement.
struct Head {
    std::uint32_t magic = magic_value;
    Verdict verdict = Verdict::agreed;
    Call call;
    std::int32_t rank = 0;  // the lowest of the ranks whose messages are merged into this one
    Cause cause = Cause::misuse;
    std::uint32_t reserved[2] = {};  // aligns the payload

    static constexpr std::uint32_t magic_value = 0x31544544;  // "DET1"
};
static_assert(sizeof(Head) % 16 == 0 && std::has_unique_object_representations_v<Head>);

/// A Head and a payload: data, or the reason of a failure. Allocates its memory once.
class Message {
public:
    explicit Message(std::size_t payload_limit_bytes) : storage_(sizeof(Head) + payload_limit_bytes) {}

    Head head() const;
    void set_head(Head const& head);
    /// Sets a failed verdict with its reason, which is cut to the available space.
    void fail(std::string_view reason, Cause cause);
    std::string reason() const;
    /// The Error of a failed verdict, the same on all ranks.
    Error error() const;

    std::span<std::byte> payload() { return room().subspan(sizeof(Head), size_ - sizeof(Head)); }
    std::span<std::byte const> payload() const {
        return std::span(storage_).subspan(sizeof(Head), size_ - sizeof(Head));
    }
    void clear_payload() { size_ = sizeof(Head); }
    void append(std::span<std::byte const> bytes);
    void prepend(std::span<std::byte const> bytes);

    transport::Bytes bytes() const { return std::span(storage_).first(size_); }
    /// The memory to receive a message into; call set_size() afterwards.
    transport::MutableBytes room() { return storage_; }
    Status set_size(std::size_t size, Rank from);

private:
    std::vector<std::byte> storage_;
    std::size_t size_ = sizeof(Head);
};

}  // namespace det::collectives
