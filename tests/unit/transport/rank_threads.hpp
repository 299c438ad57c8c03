#pragma once
#include <det/foundation/diagnostic.hpp>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <sstream>
#include <thread>

#include "thread_transport.hpp"

namespace det::transport {

using RankBody = std::function<Status(std::unique_ptr<Transport> transport)>;

/// Runs `body` on each rank in a thread. Returns the results in rank order.
inline std::vector<Status> run_ranks(int size, RankBody const& body, ThreadTransportOptions options = {}) {
    auto group = make_thread_transports(size, options);
    std::vector<Status> results(group.size(), Status(Ok{}));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < group.size(); ++i) {
        threads.emplace_back([&, i] { results[i] = body(std::move(group[i])); });
    }
    for (auto& thread : threads) thread.join();
    return results;
}

/// Reports the errors of ranks. Must be called from the thread of the test.
inline void check_ranks(std::vector<Status> const& results) {
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
        if (results[rank]) continue;
        std::ostringstream text;
        print(text, results[rank].error(), RenderStyle{});
        BOOST_ERROR("rank " << rank << " of " << results.size() << ": " << text.str());
    }
}

}  // namespace det::transport
