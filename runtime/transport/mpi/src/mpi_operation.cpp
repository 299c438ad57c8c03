#include "mpi_operation.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace det::transport {
namespace {

/// Until `operation` is over, while everything else that is under way goes on.
Status poll(MpiState& state, Operation& operation, Lane own) {
    Backoff backoff(state.cores);
    for (;;) {
        DET_TRY_ASSIGN(bool const is_over, operation.test());
        if (is_over) return Ok{};
        DET_TRY(state.advance_receives_except(own));
        backoff.pause();
    }
}

/// Until MPI has let go of the buffer; there is nobody left to tell an error.
void cancel(MpiState& state, MPI_Request& request) {
    if (request == MPI_REQUEST_NULL || !state.session.is_open()) return;
    MPI_Cancel(&request);
    int is_done = 0;
    Backoff backoff(state.cores);
    while (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) backoff.pause();
}

}  // namespace

Status MpiState::advance_receives_except(Lane lane) {
    for (auto i = receives.begin(); i != receives.end();) {
        auto const& [other, waiting] = *i;
        ++i;  // the first may leave, and its lane with it
        if (other != lane) DET_TRY(waiting.front()->advance());
    }
    return Ok{};
}

MpiSend::~MpiSend() {
    for (auto& piece : pieces_) cancel(*state_, piece);
}

Error MpiSend::cannot(int code) const {
    return mpi_error(fmt::format("send {} bytes from rank {} to rank {} (tag {})", bytes_.size(), route_.self,
                                 route_.peer, route_.tag),
                     code);
}

Status MpiSend::start() {
    auto const limit = state_->piece_limit_bytes;
    pieces_.resize(bytes_.size() / limit + 1, MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        auto const piece = bytes_.subspan(i * limit, std::min(limit, bytes_.size() - i * limit));
        int const code = MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, route_.peer,
                                   route_.tag, state_->session.communicator(), &pieces_[i]);
        if (code != MPI_SUCCESS) return cannot(code);
    }
    return Ok{};
}

Result<bool> MpiSend::test() {
    for (; pieces_done_ < pieces_.size(); ++pieces_done_) {
        int is_done = 0;
        int const code = MPI_Test(&pieces_[pieces_done_], &is_done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return cannot(code);
        if (is_done == 0) return false;
    }
    return true;
}

Result<std::size_t> MpiSend::wait() {
    DET_TRY(poll(*state_, *this, no_lane));
    return bytes_.size();
}

MpiReceive::~MpiReceive() {
    if (!is_over_) leave_lane();
    cancel(*state_, piece_);
}

Error MpiReceive::cannot(int code) const {
    return mpi_error(
        fmt::format("receive at rank {} from rank {} (tag {})", route_.self, route_.peer, route_.tag), code);
}

Status MpiReceive::start() {
    state_->receives[lane()].push_back(this);
    return Ok{};
}

void MpiReceive::leave_lane() {
    auto const waiting = state_->receives.find(lane());
    if (waiting == state_->receives.end()) return;
    std::erase(waiting->second, this);
    if (waiting->second.empty()) state_->receives.erase(waiting);
}

Result<bool> MpiReceive::test() {
    while (!is_over_) {
        DET_TRY_ASSIGN(bool const first_is_over, state_->receives.at(lane()).front()->advance());
        if (!first_is_over) return false;
    }
    return true;
}

Result<std::size_t> MpiReceive::wait() {
    DET_TRY(poll(*state_, *this, lane()));
    return size_;
}

Result<bool> MpiReceive::advance() {
    while (!is_over_) {
        DET_TRY_ASSIGN(bool const has_moved, piece_ == MPI_REQUEST_NULL ? find_piece() : finish_piece());
        if (!has_moved) return false;
    }
    leave_lane();
    return true;
}

Result<bool> MpiReceive::find_piece() {
    int is_there = 0, count = 0;
    MPI_Message message{};
    MPI_Status status{};
    int code =
        MPI_Improbe(route_.peer, route_.tag, state_->session.communicator(), &is_there, &message, &status);
    if (code != MPI_SUCCESS) return cannot(code);
    if (is_there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &count);
    piece_size_ = static_cast<std::size_t>(count);
    auto place = size_ <= into_.size() ? into_.subspan(size_) : MutableBytes{};
    if (place.size() < piece_size_) {
        dropped_.resize(piece_size_);
        place = dropped_;
    }
    code = MPI_Imrecv(place.data(), count, MPI_BYTE, &message, &piece_);
    if (code != MPI_SUCCESS) return cannot(code);
    return true;
}

Result<bool> MpiReceive::finish_piece() {
    int is_done = 0;
    if (int const code = MPI_Test(&piece_, &is_done, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
        return cannot(code);
    if (is_done == 0) return false;
    size_ += piece_size_;
    is_over_ = piece_size_ < state_->piece_limit_bytes;
    return true;
}

}  // namespace det::transport
