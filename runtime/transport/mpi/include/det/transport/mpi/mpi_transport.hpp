#pragma once
#include <det/transport/transport.hpp>

#include <optional>

namespace det::transport::mpi {

/// The threads of this program that may call MPI. MPI must provide at least the corresponding thread level.
enum class ThreadLevel {
    main_only,      ///< MPI_THREAD_FUNNELED: only the main thread communicates
    one_at_a_time,  ///< MPI_THREAD_SERIALIZED: any thread communicates, but never two at the same time
    any,            ///< MPI_THREAD_MULTIPLE: other parts of the program use MPI as well
};

struct Options {
    ThreadLevel threads = ThreadLevel::one_at_a_time;
    /// Size in bytes of the pieces in which messages of this size and above are sent, because MPI counts with
    /// int. From 1 to 2^31 - 1; must be the same on all ranks.
    std::size_t piece_limit_bytes = std::size_t{1} << 30;
    /// MPI_Comm_c2f of a communicator of the program. The transport connects its ranks and uses a duplicate.
    /// nullopt: all ranks of MPI_COMM_WORLD.
    std::optional<int> communicator = {};
};

/// Opens a transport over MPI between the ranks that mpirun or `srun --mpi=pmix` started, or between the
/// ranks of a communicator. Opens det_mpi.so first; if the process has loaded an MPI library already,
/// det_mpi.so uses that one. Initialises MPI if the program has not; the transport's destructor then
/// finalises it, except after abandon().
///
/// Waits have no time limit and do not detect lost ranks: if a rank is lost, the launcher ends the others.
///
/// Collective over the ranks of the communicator; blocks until all have called it.
/// \return codes::not_supported if det_mpi.so or MPI can't be loaded or the process uses another MPI;
///   codes::misuse for wrong options, a null communicator, a communicator before MPI was initialised, or MPI
///   that was finalised;
///   codes::transport if MPI fails or provides a lower thread level.
Result<std::unique_ptr<Transport>> open_transport(Options options = {});

}  // namespace det::transport::mpi
