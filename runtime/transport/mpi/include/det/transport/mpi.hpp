#pragma once
#include <det/transport/transport.hpp>

#include <optional>

namespace det::transport {

/// Which threads of this program may call MPI at all; MPI has to promise at least this.
enum class MpiThreads {
    main_only,      // MPI_THREAD_FUNNELED: all ranks' communication is in the main thread
    one_at_a_time,  // MPI_THREAD_SERIALIZED
    any,            // MPI_THREAD_MULTIPLE: other parts of the program use MPI as well
};

struct MpiOptions {
    MpiThreads threads = MpiThreads::one_at_a_time;
    /// Larger messages travel in pieces of this size: MPI counts with int.
    std::size_t piece_limit_bytes = std::size_t{1} << 30;
    /// MPI_Comm_c2f of the communicator whose ranks these are, which the program has made and keeps; ours is
    /// a duplicate. Nothing: all ranks.
    std::optional<int> communicator = {};
};

/// The ranks that mpirun or `srun --mpi=pmix` started, or some of them. Initialises MPI unless the program
/// has done so already, and finalises it in the destructor only then. All of these ranks open it together.
Result<std::unique_ptr<Transport>> open_mpi_transport(MpiOptions options = {});

}  // namespace det::transport
