#pragma once
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace det::search {

inline Result<Search, Refusals> parse(std::string const& searcher, std::string const& hyperparameters,
                                      std::uint32_t seed = 42) {
    auto const options = parse_json(searcher);
    return Search::parse({options.value("name", ""), "loss", true, options}, parse_json(hyperparameters),
                         seed);
}

inline Search search_of(std::string const& searcher, std::string const& hyperparameters,
                        std::uint32_t seed = 42) {
    auto search = parse(searcher, hyperparameters, seed);
    if (!search) BOOST_FAIL(search.error().front().error.message);
    return *std::move(search);
}

inline Refusals refusals_of(std::string const& searcher, std::string const& hyperparameters) {
    auto search = parse(searcher, hyperparameters);
    BOOST_REQUIRE_MESSAGE(!search.has_value(), searcher + hyperparameters);
    return std::move(search).error();
}

/// The hyperparameters of all trials, in the order in which they are started.
inline std::vector<Json> points_of(Search const& search) {
    std::vector<Json> points;
    for (auto const& draw : search.draw_first(search.trial_count())) points.push_back(draw.hyperparameters);
    return points;
}

}  // namespace det::search
