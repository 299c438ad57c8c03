#pragma once
#include <det/transport/mpi.hpp>

#include "mpi_api.hpp"

namespace det::transport {

/// "cannot <what>: " and MPI's own words.
Error mpi_error(std::string const& what, int code);

/// MPI initialised, and a communicator of our own in it, so that our messages never meet those of the
/// program.
class MpiSession {
public:
    /// parent: as in MpiOptions.
    static Result<MpiSession> open(MpiThreads threads, std::optional<int> parent = {});
    MpiSession(MpiSession&& other) noexcept;
    MpiSession& operator=(MpiSession&&) = delete;
    ~MpiSession();

    MPI_Comm communicator() const { return communicator_; }
    Result<int> rank() const;
    Result<int> size() const;
    /// Ranks on this node.
    Result<int> local_size() const;

    /// MPI can still be called.
    bool is_open() const { return communicator_ != MPI_COMM_NULL; }
    /// Leaves communicator and MPI as they are: closing them waits for the other ranks.
    void abandon() noexcept { communicator_ = MPI_COMM_NULL; }

private:
    explicit MpiSession(bool is_ours) : is_ours_(is_ours) {}

    MPI_Comm communicator_ = MPI_COMM_NULL;
    bool is_ours_;  // initialised by us
};

}  // namespace det::transport
