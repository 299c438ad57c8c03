#pragma once
#include <det/transport/mpi/mpi_transport.hpp>

// The C interface only: the C++ bindings of older MPIs do not compile as C++20.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace det::transport::mpi {

/// "cannot <what>: " and the text of MPI's error code.
Error mpi_error(std::string const& what, int code);

/// A duplicate of a communicator, so that our messages never match receives of the program. MPI is
/// initialised, by this object if the program has not done it.
class Communicator {
public:
    /// \param parent as Options::communicator
    static Result<Communicator> open(ThreadLevel threads, std::optional<int> parent = {});
    Communicator(Communicator&& other) noexcept;
    Communicator& operator=(Communicator&&) = delete;
    ~Communicator();

    MPI_Comm handle() const { return communicator_; }
    Result<int> rank() const;
    Result<int> size() const;
    /// Number of ranks on this node. Collective.
    Result<int> local_size() const;

    /// False after abandon.
    bool is_open() const { return communicator_ != MPI_COMM_NULL; }
    /// Neither frees the communicator nor finalises MPI, because both wait for the other ranks.
    void abandon() noexcept { communicator_ = MPI_COMM_NULL; }

private:
    explicit Communicator(bool is_initialised_here) : was_initialised_here_(is_initialised_here) {}

    MPI_Comm communicator_ = MPI_COMM_NULL;
    bool was_initialised_here_;  // initialised by us
};

}  // namespace det::transport::mpi
