#include <det/transport/mpi/mpi_transport.hpp>

#include <boost/test/unit_test.hpp>

#include "../conformance/expectation.hpp"
#include "../unit/collectives/collective_cases.hpp"
#include "check_result.hpp"

using namespace det;
using namespace det::collectives;

namespace collectives_mpi_test {

DistributedContext open_context(Tuning tuning = {}) {
    auto transport = must(transport::mpi::open_transport());
    Topology const topology{transport->rank().value, transport->size()};
    return must(DistributedContext::make(std::move(transport), topology, tuning));
}

/// The seed of the chief, because all ranks must draw the same numbers.
std::uint32_t common_seed(DistributedContext& context) {
    std::uint32_t seed = test_seed();
    must(context.broadcast(std::as_writable_bytes(std::span(&seed, 1))));
    return seed;
}

}  // namespace collectives_mpi_test

BOOST_AUTO_TEST_SUITE(collectives_mpi_test)

BOOST_AUTO_TEST_CASE(ranks_agree_on_everything) {
    for (auto const& tuning : tunings()) {
        auto context = open_context(tuning);
        auto const seed = common_seed(context);
        auto const result = run_all_cases(context, seed);
        if (result) continue;
        BOOST_ERROR("rank " << context.rank().value << ", small up to " << tuning.small_limit_bytes << ": "
                            << explain(result.error()));
    }
}

BOOST_AUTO_TEST_CASE(ranks_of_a_node_gather_among_themselves) {
    auto transport = must(transport::mpi::open_transport());
    auto const rank = transport->rank().value, size = transport->size();
    Topology const first{0, 1, 0, std::min(size, 2)}, others{rank - 1, size - 1, 1, 2};
    auto context = must(DistributedContext::make(std::move(transport), rank == 0 ? first : others));
    auto const all = must(context.allgather_local(std::to_string(rank)));
    BOOST_TEST(all.front() == (rank == 0 ? "0" : "1"));
}

BOOST_AUTO_TEST_CASE(gradients_of_many_megabytes_are_averaged) {
    auto context = open_context();
    std::vector<float> gradient(5'000'011);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] = static_cast<float>(i % 1000) + static_cast<float>(context.rank().value);
    }
    must(context.allreduce(std::span(gradient), ReduceOp::mean));
    auto const offset = static_cast<float>(context.size() - 1) / 2;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i)
        wrong += gradient[i] != static_cast<float>(i % 1000) + offset;
    BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
