#include "bootstrap_suite.hpp"

#include <fmt/format.h>

#include "expectation.hpp"

namespace det::transport {
namespace {

std::string value_of(Rank rank, std::size_t size) {
    std::string value;
    for (std::size_t i = 0; i < size; ++i) {
        value += static_cast<char>(static_cast<std::size_t>(rank.value) * 31 + i * 7);  // includes zero bytes
    }
    return value;
}

Rank at_distance(Bootstrap const& bootstrap, int distance) {
    return {(bootstrap.rank().value + distance + bootstrap.size()) % bootstrap.size()};
}

Status other_ranks_get_what_a_rank_has_put(Bootstrap& bootstrap) {
    for (std::size_t const size :
         {std::size_t{0}, std::size_t{1}, std::size_t{244}, Bootstrap::value_limit_bytes}) {
        auto const key = fmt::format("put-{}", size);
        DET_TRY(bootstrap.put(key, value_of(bootstrap.rank(), size)));
        DET_TRY(bootstrap.fence());
        for (int from = 0; from < bootstrap.size(); ++from) {
            DET_TRY_ASSIGN(auto const value, bootstrap.get({from}, key));
            DET_TRY(expect(value == value_of({from}, size), fmt::format("'{}' of rank {}", key, from)));
        }
    }
    return Ok{};
}

Status an_allgather_has_all_values_in_rank_order(Bootstrap& bootstrap) {
    for (std::size_t round = 0; round < 5; ++round) {
        auto const size_of = [&](Rank rank) { return static_cast<std::size_t>(rank.value) * 100 * round; };
        DET_TRY_ASSIGN(auto const values,
                       bootstrap.allgather(value_of(bootstrap.rank(), size_of(bootstrap.rank()))));
        DET_TRY(expect(values.size() == static_cast<std::size_t>(bootstrap.size()), "a value of each rank"));
        for (int from = 0; from < bootstrap.size(); ++from) {
            DET_TRY(expect(values[static_cast<std::size_t>(from)] == value_of({from}, size_of({from})),
                           fmt::format("the value of rank {} in round {}", from, round)));
        }
    }
    return Ok{};
}

Status invalid_keys_values_and_ranks_are_refused(Bootstrap& bootstrap) {
    DET_TRY(bootstrap.put("once", "1"));
    std::string const too_large(Bootstrap::value_limit_bytes + 1, 'x');
    auto const refused = {
        bootstrap.put("once", "2"),
        bootstrap.put("", "x"),
        bootstrap.put("../../etc/passwd", "x"),
        bootstrap.put("a key", "x"),
        bootstrap.put(std::string(Bootstrap::key_limit_bytes + 1, 'k'), "x"),
        bootstrap.put("large", too_large),
    };
    for (auto const& status : refused) {
        DET_TRY(expect(!status && status.error().code == codes::misuse, "a refusal"));
    }
    DET_TRY(expect(!bootstrap.get({bootstrap.size()}, "once"), "no rank beyond the last"));
    DET_TRY(expect(!bootstrap.get({-1}, "once"), "no rank below 0"));
    DET_TRY(bootstrap.fence());
    DET_TRY_ASSIGN(auto const value, bootstrap.get(at_distance(bootstrap, 1), "once"));
    return expect(value == "1", "what was put first");
}

constexpr BootstrapCase cases[] = {
    {"other ranks get what a rank has put", other_ranks_get_what_a_rank_has_put},
    {"an allgather has all values in rank order", an_allgather_has_all_values_in_rank_order},
    {"invalid keys, values and ranks are refused", invalid_keys_values_and_ranks_are_refused},
};

}  // namespace

std::span<BootstrapCase const> bootstrap_cases() { return cases; }

}  // namespace det::transport
