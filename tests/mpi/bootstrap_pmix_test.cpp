// The ranks do not use MPI: mpirun is used only as a PMIx server.
#include <det/transport/pmix/pmix_bootstrap.hpp>

#include <cstdio>

#include "../conformance/bootstrap_suite.hpp"

int main() {
    using namespace det;
    using namespace det::transport;
    auto const bootstrap = pmix::open_bootstrap({std::chrono::seconds(20)});
    if (!bootstrap) {
        std::fprintf(stderr, "no bootstrap: %s\n", bootstrap.error().message.c_str());
        return 1;
    }
    int failures = 0;
    for (auto const& test : bootstrap_cases()) {
        auto const result = test.run(**bootstrap);
        if (result) continue;
        ++failures;
        std::fprintf(stderr, "rank %d: %s: %s\n", (*bootstrap)->rank().value, test.name.data(),
                     result.error().message.c_str());
    }
    return failures == 0 && (*bootstrap)->fence() ? 0 : 1;
}
