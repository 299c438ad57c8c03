// bench-internode-rank FILE: creates the rendezvous file of the ranks.
// bench-internode-rank RANK RANKS FILE CHIEF_ADDRESS OWN_ADDRESS: one rank, on its own node. The chief reads
// lines "BYTES ITERATIONS" from stdin. It answers each line with the seconds of one allreduce: the mean over
// the iterations, and the maximum over the ranks. Before each iteration the ranks write their input again and
// enter a barrier. After "BYTES 0" the ranks reduce until one is killed; then each remaining rank prints when
// it had the error, in seconds of the steady clock.
#include <det/collectives/distributed_context.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/transport/tcp/tcp_transport.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <sstream>

namespace {

using namespace det;
using collectives::DistributedContext;
using collectives::ReduceOp;
using collectives::Topology;
using std::chrono::steady_clock;

Result<DistributedContext> connect(Rank rank, int ranks, std::vector<std::string> const& rest) {
    auto const& rendezvous = rest.at(2);
    auto const& address = rest.at(3);
    DET_TRY_ASSIGN(auto bootstrap,
                   transport::open_tcp_bootstrap(rank, ranks, rendezvous, {.chief_address = address}));
    DET_TRY_ASSIGN(auto transport, transport::tcp::open_transport(
                                       std::move(bootstrap), {.address = rest.at(4), .local_ranks = ranks}));
    return DistributedContext::make(std::move(transport), Topology{0, 1, rank.value, ranks});
}

Result<double> measure(DistributedContext& context, std::size_t size_bytes, int iterations) {
    std::vector<float> values(size_bytes / sizeof(float));
    std::chrono::duration<double> total{};
    for (int i = 0; i < iterations; ++i) {
        std::fill(values.begin(), values.end(), static_cast<float>(context.rank().value + i));
        DET_TRY(context.barrier());
        auto const begin = steady_clock::now();
        DET_TRY(context.allreduce(std::span(values), ReduceOp::sum));
        total += steady_clock::now() - begin;
        auto const ranks = context.size();
        auto const sum = static_cast<float>(ranks * (ranks - 1) / 2 + ranks * i);
        if (std::ranges::count(values, sum) != std::ssize(values))
            return Error{codes::internal, "a wrong sum"};
    }
    return context.allreduce(total.count() / iterations, ReduceOp::max);
}

void reduce_until_one_is_lost(DistributedContext& context, std::size_t size_bytes) {
    std::vector<float> values(size_bytes / sizeof(float));
    while (context.allreduce(std::span(values), ReduceOp::max)) {
    }
    auto const now = steady_clock::now().time_since_epoch();
    std::cout << fmt::format("{:.6f}", std::chrono::duration<double>(now).count()) << std::endl;
    context.abandon();
}

Status serve(DistributedContext& context) {
    for (;;) {
        std::string line;
        if (context.is_chief()) std::getline(std::cin, line);
        DET_TRY_ASSIGN(line, context.broadcast(line));
        if (line.empty()) return Ok{};
        std::istringstream words(line);
        std::size_t size_bytes = 0;
        int iterations = 0;
        words >> size_bytes >> iterations;
        if (iterations == 0) {
            reduce_until_one_is_lost(context, size_bytes);
            return Ok{};
        }
        DET_TRY_ASSIGN(double const seconds, measure(context, size_bytes, iterations));
        if (context.is_chief()) std::cout << seconds << std::endl;
    }
}

Status run(std::vector<std::string> const& arguments) {
    if (arguments.size() == 1) return write_file(arguments[0], render_rendezvous_file({make_uuid()}));
    if (arguments.size() != 5) return Error{codes::usage, "see the source for the arguments"};
    auto const rank = parse_integer<int>(arguments.at(0)), ranks = parse_integer<int>(arguments.at(1));
    if (!rank || !ranks) return Error{codes::usage, "RANK and RANKS are numbers"};
    DET_TRY_ASSIGN(auto context, connect({*rank}, *ranks, arguments));
    return serve(context);
}

}  // namespace

int main(int argc, char** argv) {
    auto const result = run({argv + 1, argv + argc});
    if (!result) std::cerr << "bench-internode-rank: error: " << result.error().message << '\n';
    return result ? 0 : 1;
}
