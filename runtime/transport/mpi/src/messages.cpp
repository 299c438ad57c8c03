#include "messages.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::transport::mpi {
namespace {

/// Blocks until `operation` is complete. Meanwhile advances the receives of all keys except `own`.
Status wait_for(SharedState& state, Operation& operation, MatchKey own) {
    liveness::Backoff backoff(state.cores);
    for (;;) {
        DET_TRY_ASSIGN(bool const is_complete, operation.test());
        if (is_complete) return Ok{};
        DET_TRY(state.advance_receives_except(own));
        backoff.pause();
    }
}

/// Cancels a request and waits until MPI no longer uses its buffer. Does nothing after abandon(). Ignores
/// errors, because destructors call it.
void cancel(SharedState& state, MPI_Request& request) {
    if (request == MPI_REQUEST_NULL || !state.communicator.is_open()) return;
    MPI_Cancel(&request);
    int is_done = 0;
    liveness::Backoff backoff(state.cores);
    while (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) backoff.pause();
}

}  // namespace

Status SharedState::advance_receives_except(MatchKey match_key) {
    for (auto i = receives.begin(); i != receives.end();) {
        auto const& [other, waiting] = *i;
        ++i;  // before advance(), which may remove the receive and its queue
        if (other != match_key) DET_TRY(waiting.front()->advance());
    }
    return Ok{};
}

SendMessage::~SendMessage() {
    for (auto& piece : pieces_) cancel(*state_, piece);
}

Error SendMessage::cannot(int code) const {
    return mpi_error(fmt::format("send {} bytes from rank {} to rank {} (tag {})", bytes_.size(), route_.self,
                                 route_.peer, route_.tag),
                     code);
}

Status SendMessage::start() {
    auto const limit = state_->piece_limit_bytes;
    pieces_.resize(bytes_.size() / limit + 1, MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        auto const piece = bytes_.subspan(i * limit, std::min(limit, bytes_.size() - i * limit));
        int const code = MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, route_.peer,
                                   route_.tag, state_->communicator.handle(), &pieces_[i]);
        if (code != MPI_SUCCESS) return cannot(code);
    }
    return Ok{};
}

Result<bool> SendMessage::test() {
    for (; pieces_done_ < pieces_.size(); ++pieces_done_) {
        int is_done = 0;
        int const code = MPI_Test(&pieces_[pieces_done_], &is_done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return cannot(code);
        if (is_done == 0) return false;
    }
    return true;
}

Result<std::size_t> SendMessage::wait() {
    DET_TRY(wait_for(*state_, *this, no_match_key));
    return bytes_.size();
}

ReceiveMessage::~ReceiveMessage() {
    if (!is_complete_) leave_queue();
    cancel(*state_, piece_);
}

Error ReceiveMessage::cannot(int code) const {
    return mpi_error(
        fmt::format("receive at rank {} from rank {} (tag {})", route_.self, route_.peer, route_.tag), code);
}

Status ReceiveMessage::start() {
    state_->receives[match_key()].push_back(this);
    return Ok{};
}

void ReceiveMessage::leave_queue() {
    auto const waiting = state_->receives.find(match_key());
    if (waiting == state_->receives.end()) return;
    std::erase(waiting->second, this);
    if (waiting->second.empty()) state_->receives.erase(waiting);
}

Result<bool> ReceiveMessage::test() {
    while (!is_complete_) {
        DET_TRY_ASSIGN(bool const first_is_complete, state_->receives.at(match_key()).front()->advance());
        if (!first_is_complete) return false;
    }
    return true;
}

Result<std::size_t> ReceiveMessage::wait() {
    DET_TRY(wait_for(*state_, *this, match_key()));
    return size_;
}

Result<bool> ReceiveMessage::advance() {
    while (!is_complete_) {
        DET_TRY_ASSIGN(bool const has_moved, piece_ == MPI_REQUEST_NULL ? try_start_piece() : finish_piece());
        if (!has_moved) return false;
    }
    leave_queue();
    return true;
}

Result<bool> ReceiveMessage::try_start_piece() {
    int is_there = 0, count = 0;
    MPI_Message message{};
    MPI_Status status{};
    int code =
        MPI_Improbe(route_.peer, route_.tag, state_->communicator.handle(), &is_there, &message, &status);
    if (code != MPI_SUCCESS) return cannot(code);
    if (is_there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    piece_size_ = static_cast<std::size_t>(count);
    auto target = size_ <= into_.size() ? into_.subspan(size_) : MutableBytes{};
    if (target.size() < piece_size_) {
        dropped_.resize(piece_size_);
        target = dropped_;
    }
    code = MPI_Imrecv(target.data(), count, MPI_BYTE, &message, &piece_);
    if (code != MPI_SUCCESS) return cannot(code);
    return true;
}

Result<bool> ReceiveMessage::finish_piece() {
    int is_done = 0;
    if (int const code = MPI_Test(&piece_, &is_done, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
        return cannot(code);
    if (is_done == 0) return false;
    size_ += piece_size_;
    is_complete_ = piece_size_ < state_->piece_limit_bytes;
    return true;
}

}  // namespace det::transport::mpi
