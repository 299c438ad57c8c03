// A rank that fails alone calls abandon() and ends, while the others wait for it. The launcher then ends the
// others, and no rank hangs in MPI_Finalize.
#include <det/transport/mpi/mpi_transport.hpp>

#include <cstdio>

int main() {
    using namespace det::transport;
    auto opened = mpi::open_transport();
    if (!opened) return 2;
    auto& transport = **opened;
    if (transport.rank().value == 1) {
        std::puts("rank 1 leaves");
        transport.abandon();
        return 3;
    }
    std::byte byte{};
    auto const received = transport.receive({1}, Tag{1}, std::span(&byte, 1));
    std::printf("received %d\n", received.has_value());
    transport.abandon();
    return 4;
}
