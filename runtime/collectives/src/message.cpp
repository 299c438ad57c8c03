#include "message.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace det::collectives {
namespace {

struct CauseText {
    ErrorCode code;
    char const* hint;
};

constexpr char const* start_again = "end this rank, or make a new context of the ranks that are left";
constexpr CauseText cause_texts[] = {
    {codes::misuse, "make the same calls in the same order on every rank"},
    {codes::transport, start_again},
    {codes::timed_out, start_again},
};

}  // namespace

Cause cause_of(Error const& error) {
    if (error.code == codes::transport) return Cause::lost_rank;
    return error.code == codes::timed_out ? Cause::timeout : Cause::misuse;
}

Head Message::head() const {
    Head head;
    std::memcpy(&head, storage_.data(), sizeof head);
    return head;
}

void Message::set_head(Head const& head) { std::memcpy(storage_.data(), &head, sizeof head); }

void Message::fail(std::string_view reason, Cause cause) {
    auto changed = head();
    changed.verdict = Verdict::failed;
    changed.cause = cause;
    set_head(changed);
    clear_payload();
    auto const room_left = storage_.size() - size_;
    append(std::as_bytes(std::span(reason.substr(0, room_left))));
}

std::string Message::reason() const {
    auto const text = payload();
    return {reinterpret_cast<char const*>(text.data()), text.size()};
}

Error Message::error() const {
    auto const cause = std::min(static_cast<std::size_t>(head().cause), std::size(cause_texts) - 1);
    return Error{cause_texts[cause].code, reason(), cause_texts[cause].hint};
}

void Message::append(std::span<std::byte const> bytes) {
    assert(size_ + bytes.size() <= storage_.size());
    std::copy(bytes.begin(), bytes.end(), storage_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
}

void Message::prepend(std::span<std::byte const> bytes) {
    assert(size_ + bytes.size() <= storage_.size());
    auto const old = payload();
    size_ += bytes.size();
    std::copy_backward(old.begin(), old.end(), payload().end());
    std::copy(bytes.begin(), bytes.end(), payload().begin());
}

Status Message::set_size(std::size_t size, Rank from) {
    size_ = std::max(size, sizeof(Head));
    if (size >= sizeof(Head) && head().magic == Head::magic_value) return Ok{};
    return Error{
        codes::transport,
        fmt::format("the {} bytes that rank {} sent do not begin a collective operation", size, from.value),
        "start all ranks from the same version of the program"};
}

}  // namespace det::collectives
