// MPI is initialised and finalised by the transport, and cannot be opened twice. A separate program, because
// a process can initialise MPI only once.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <det/transport/mpi/mpi_transport.hpp>

#include <cstdio>
#include <mpi.h>

namespace {

int complaints = 0;

void check(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    ++complaints;
}

bool is_finalised() {
    int flag = 0;
    MPI_Finalized(&flag);
    return flag != 0;
}

}  // namespace

int main() {
    using namespace det::transport;
    {
        auto const opened = mpi::open_transport();
        check(opened.has_value(), "the transport opens MPI by itself");
        if (!opened) return 1;
        auto& transport = **opened;
        int const ranks = transport.size();
        std::byte const sent{42};
        std::byte received{};
        det::Rank const right{(transport.rank().value + 1) % ranks},
            left{(transport.rank().value + ranks - 1) % ranks};
        auto const result =
            transport.exchange({right, std::span(&sent, 1)}, {left, std::span(&received, 1)}, Tag{1});
        check(result.has_value() && received == sent, "a byte goes round");
        check(!is_finalised(), "MPI stays open as long as its transport");
    }
    check(is_finalised(), "the transport closes what it opened");
    auto const again = mpi::open_transport();
    check(!again && again.error().code == det::codes::misuse, "MPI cannot be opened again");
    return complaints == 0 ? 0 : 1;
}
