#pragma once
#include <det/transport/transport.hpp>

#include <optional>

namespace det::transport::mpi {

/// The threads of this program that may call MPI, and so the thread level that MPI must provide at least.
enum class ThreadLevel {
    main_only,      ///< MPI_THREAD_FUNNELED: only the main thread communicates
    one_at_a_time,  ///< MPI_THREAD_SERIALIZED
    any,            ///< MPI_THREAD_MULTIPLE: other parts of the program use MPI as well
};

struct Options {
    ThreadLevel threads = ThreadLevel::one_at_a_time;
    /// Larger messages travel in pieces of this size in bytes, because MPI counts with int. From 1 to 2^31
    /// - 1.
    std::size_t piece_limit_bytes = std::size_t{1} << 30;
    /// MPI_Comm_c2f of a communicator that the program made and keeps: the transport connects its ranks, on a
    /// duplicate. Absent: all ranks of MPI_COMM_WORLD.
    std::optional<int> communicator = {};
};

/// Opens a transport over MPI between the ranks that mpirun or `srun --mpi=pmix` started, or some of them.
/// Opens det_mpi.so first; a process that has loaded the MPI library already goes on with that one.
/// Initialises MPI if the program has not, and then finalises it in the transport's destructor.
///
/// Collective over the ranks of the communicator; blocks until all have called.
/// \return codes::not_supported if det_mpi.so or MPI can't be loaded or the process uses another MPI;
///   codes::misuse for wrong options, a null communicator, or MPI that was finalised;
///   codes::transport if MPI fails or provides a lower thread level.
Result<std::unique_ptr<Transport>> open_transport(Options options = {});

}  // namespace det::transport::mpi
