#include "collective_cases.hpp"

#include <fmt/format.h>

#include "../../conformance/expectation.hpp"

namespace det::collectives {

std::span<Tuning const> tunings() {
    static constexpr Tuning all[] = {
        {},
        nothing_is_small,
        {.small_limit_bytes = 64, .segment_bytes = 700},  // segments that are no whole number of elements
        {.small_limit_bytes = 1000, .segment_bytes = 4096},
    };
    return all;
}

Status run_all_cases(DistributedContext& context, std::uint32_t seed) {
    for (auto const cases : {reduction_cases(), element_cases(), object_cases(), divergence_cases()}) {
        for (auto const& test : cases) {
            auto result = test.run(context, seed);
            if (result) continue;
            return with_seed(
                std::move(result).error().while_doing(fmt::format("checking that {}", test.name)), seed);
        }
    }
    return Ok{};
}

}  // namespace det::collectives
