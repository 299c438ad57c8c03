// More elements than 32 bits can count, in little memory: the same pages are mapped many times.
#include <det/collectives/rank_group.hpp>
#include <det/collectives/reduction.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "algorithm_selection.hpp"
#include "communicator.hpp"

using namespace det;
using namespace det::collectives;

namespace large_counts_test {

constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
constexpr std::size_t large = (std::size_t{1} << 31) + chunk_bytes;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool has_room = false;  // sanitizers use memory for each address
#else
constexpr bool has_room = true;
#endif

/// `large` bytes. All chunks but the last one are the same memory.
class Repeated {
public:
    explicit Repeated(int value)
        : memory_(static_cast<std::byte*>(
              ::mmap(nullptr, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        UniqueFd const same(::memfd_create("same", MFD_CLOEXEC)), last(::memfd_create("last", MFD_CLOEXEC));
        BOOST_REQUIRE((memory_ != MAP_FAILED && ::ftruncate(same.get(), chunk_bytes) == 0 &&
                       ::ftruncate(last.get(), chunk_bytes) == 0));
        for (std::size_t begin = 0; begin < large; begin += chunk_bytes) {
            auto const& file = begin + chunk_bytes < large ? same : last;
            auto* const mapped = ::mmap(memory_ + begin, chunk_bytes, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_FIXED, file.get(), 0);
            BOOST_REQUIRE(mapped != MAP_FAILED);
        }
        std::memset(memory_, value, chunk_bytes);
        std::memset(memory_ + large - chunk_bytes, value, chunk_bytes);
    }
    ~Repeated() { ::munmap(memory_, large); }
    Repeated(Repeated const&) = delete;
    Repeated& operator=(Repeated const&) = delete;

    std::byte* data() const { return memory_; }
    Tensor tensor() const { return {memory_, large, DataType::uint8}; }
    bool is_all(int value) const {
        std::vector<std::byte> const expected(chunk_bytes, static_cast<std::byte>(value));
        return std::memcmp(memory_, expected.data(), chunk_bytes) == 0 &&
               std::memcmp(memory_ + large - chunk_bytes, expected.data(), chunk_bytes) == 0;
    }

private:
    std::byte* memory_;
};

}  // namespace large_counts_test

BOOST_AUTO_TEST_SUITE(large_counts_test)

BOOST_AUTO_TEST_CASE(more_than_2_to_the_31_elements_are_reduced, *boost::unit_test::enable_if<has_room>()) {
    Repeated const below(3), above(5), result(0);
    std::byte const* const sources[] = {below.data(), above.data()};
    Destination const destination{result.data()};
    reduce(DataType::uint8, ReduceOp::sum, sources, std::span(&destination, 1), large);
    BOOST_TEST(result.is_all(8));
}

BOOST_AUTO_TEST_CASE(more_than_2_to_the_31_elements_go_from_rank_to_rank,
                     *boost::unit_test::enable_if<has_room>()) {
    Repeated const first(3), second(5);
    transport::check_ranks(transport::run_ranks(2, [&](auto transport) -> Status {
        auto const& own = transport->rank().value == 0 ? first : second;
        Topology const topology{transport->rank().value, transport->size()};
        DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(transport), topology));
        // Pages are combined more than once, because they repeat. This does not change a maximum.
        return context.allreduce(own.tensor(), ReduceOp::max);
    }));
    BOOST_TEST(first.is_all(5));
    BOOST_TEST(second.is_all(5));
}

BOOST_AUTO_TEST_CASE(counts_of_2_to_the_33_elements_are_checked_reported_and_planned) {
    constexpr std::size_t count = std::size_t{1} << 33;
    std::byte memory{};
    TensorCall call{.in = {&memory, count, DataType::float64}, .out = {&memory, count, DataType::float64}};
    BOOST_TEST(check(call, Rank{0}, 8).has_value());
    BOOST_TEST(describe(call_of(call)) == "allreduce(sum of 8589934592 float64)");
    BOOST_TEST(bytes_of(call.in).size() == std::size_t{1} << 36);
    call.kind = Kind::reduce_scatter;
    call.out.count = count / 8;
    BOOST_TEST(check(call, Rank{0}, 8).has_value());
    call.out.count = static_cast<std::uint32_t>(count / 8) / 2;
    BOOST_TEST(!check(call, Rank{0}, 8).has_value());
    auto const size = count * sizeof(double);
    for (auto const kind : {Kind::allreduce, Kind::reduce_scatter, Kind::broadcast}) {
        BOOST_TEST((choose(kind, 4, size).algorithm == choose(kind, 4, std::size_t{1} << 28).algorithm));
    }
    BOOST_TEST(segments_for(Algorithm::chain, size, 512 * 1024) == 4096);
}

BOOST_AUTO_TEST_SUITE_END()
