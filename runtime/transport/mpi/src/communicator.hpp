#pragma once
#include <det/transport/mpi/mpi_transport.hpp>

// Leaves out the C++ bindings: those of older MPIs do not compile as C++20.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace det::transport::mpi {

/// Makes the Error "cannot <what>: " with MPI's text for the error code.
Error mpi_error(std::string const& what, int code);

/// A duplicate of a communicator, so that messages of det-submit never match receives of the program.
/// Initialises MPI if the program has not done it, and then finalises it in the destructor. If open() fails,
/// it may leave MPI initialised.
class Communicator {
public:
    /// Collective over the ranks of `parent`.
    /// \param parent like Options::communicator
    static Result<Communicator> open(ThreadLevel threads, std::optional<int> parent = {});
    Communicator(Communicator&& other) noexcept;
    Communicator& operator=(Communicator&&) = delete;
    ~Communicator();

    MPI_Comm handle() const { return communicator_; }
    Result<int> rank() const;
    Result<int> size() const;
    /// Number of ranks on this node. Collective.
    Result<int> local_size() const;

    /// Returns false after abandon().
    bool is_open() const { return communicator_ != MPI_COMM_NULL; }
    /// After this call the destructor neither frees the communicator nor finalises MPI, because both wait for
    /// the other ranks.
    void abandon() noexcept { communicator_ = MPI_COMM_NULL; }

private:
    explicit Communicator(bool is_initialised_here) : was_initialised_here_(is_initialised_here) {}

    MPI_Comm communicator_ = MPI_COMM_NULL;
    bool was_initialised_here_;  // whether open() has initialised MPI
};

}  // namespace det::transport::mpi
