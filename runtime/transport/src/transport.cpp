#include <det/transport/transport.hpp>

#include <fmt/format.h>

namespace det::transport {
namespace {

Status check_route(Transport const& transport, Rank peer, Tag tag, std::string_view what) {
    if (peer.value < 0 || peer.value >= transport.size()) {
        return Error{codes::misuse, fmt::format("rank {} cannot {} rank {}: there are {} ranks",
                                                transport.rank().value, what, peer.value, transport.size())};
    }
    if (tag.value > tag_max) {
        return Error{codes::misuse,
                     fmt::format("rank {} cannot {} rank {} with tag {}: the largest is {}",
                                 transport.rank().value, what, peer.value, tag.value, tag_max)};
    }
    return Ok{};
}

}  // namespace

Result<std::size_t> Request::finish() {
    DET_TRY_ASSIGN(auto const size, operation_->wait());
    bool const fits = fit_ == Fit::exact ? size == buffer_size_ : size <= buffer_size_;
    if (fits) return size;
    return Error{codes::transport, fmt::format("rank {} expected {}{} bytes from rank {} and got {} (tag {})",
                                               route_.to.value, fit_ == Fit::exact ? "" : "at most ",
                                               buffer_size_, route_.from.value, size, route_.tag.value)};
}

Result<Request> Transport::start_send(Rank to, Tag tag, Bytes bytes) {
    DET_TRY(check_route(*this, to, tag, "send to"));
    DET_TRY_ASSIGN(auto operation, begin_send(to, tag, bytes));
    return Request(std::move(operation), {rank(), to, tag}, bytes.size(), Fit::exact);
}

Result<Request> Transport::start_receive(Rank from, Tag tag, MutableBytes into, Fit fit) {
    DET_TRY(check_route(*this, from, tag, "receive from"));
    DET_TRY_ASSIGN(auto operation, begin_receive(from, tag, into));
    return Request(std::move(operation), {from, rank(), tag}, into.size(), fit);
}

Status Transport::send(Rank to, Tag tag, Bytes bytes) {
    if (to == rank()) {
        return Error{codes::misuse,
                     fmt::format("rank {} sends to itself and would wait for itself", rank().value),
                     "use exchange, or start_receive and start_send"};
    }
    DET_TRY_ASSIGN(auto request, start_send(to, tag, bytes));
    DET_TRY(request.finish());
    return Ok{};
}

Result<std::size_t> Transport::receive(Rank from, Tag tag, MutableBytes into, Fit fit) {
    DET_TRY_ASSIGN(auto request, start_receive(from, tag, into, fit));
    return request.finish();
}

Result<std::size_t> Transport::exchange(Outgoing out, Incoming in, Tag tag) {
    DET_TRY_ASSIGN(auto receiving, start_receive(in.from, tag, in.bytes, in.fit));
    DET_TRY_ASSIGN(auto sending, start_send(out.to, tag, out.bytes));
    // Finishes the send even if the receive failed, because the peer may still wait for this message.
    auto received = receiving.finish();
    DET_TRY(sending.finish());
    return received;
}

}  // namespace det::transport
