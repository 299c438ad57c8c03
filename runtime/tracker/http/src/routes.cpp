#include <det/foundation/text.hpp>
#include <det/tracker/http/routes.hpp>

#include <algorithm>
#include <cassert>

namespace det::tracker::http {
namespace {

using Segments = std::vector<std::string>;

bool is_name(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

Segments segments_of(std::string_view pattern) {
    assert(pattern.starts_with('/'));
    Segments segments;
    if (pattern == "/") return segments;
    for (auto const part : split(pattern.substr(1), '/')) segments.emplace_back(part);
    return segments;
}

bool matches(Segments const& pattern, Segments const& segments) {
    return std::ranges::equal(pattern, segments, [](auto const& expected, auto const& segment) {
        return is_name(expected) || expected == segment;
    });
}

/// Whether `a` has a fixed segment at the first place where only one of them has.
bool is_more_specific(Segments const& a, Segments const& b) {
    return std::ranges::lexicographical_compare(a, b, {}, is_name, is_name);
}

[[maybe_unused]] bool is_same_pattern(Segments const& a, Segments const& b) {
    return std::ranges::equal(
        a, b, [](auto const& x, auto const& y) { return (is_name(x) && is_name(y)) || x == y; });
}

}  // namespace

RouteTable::RouteTable(std::vector<Route> routes) : routes_(std::move(routes)) {
    for (auto const& route : routes_) patterns_.push_back(segments_of(route.pattern));
    for (std::size_t a = 0; a < routes_.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b)
            assert(routes_[a].method != routes_[b].method || !is_same_pattern(patterns_[a], patterns_[b]));
    }
}

RouteTable::Match RouteTable::find(Method method, std::vector<std::string> const& segments) const {
    auto const wanted = method == Method::head ? Method::get : method;
    Match match;
    Segments const* best = nullptr;
    for (std::size_t at = 0; at < routes_.size(); ++at) {
        if (!matches(patterns_[at], segments)) continue;
        match.allowed.push_back(routes_[at].method);
        if (routes_[at].method == Method::get) match.allowed.push_back(Method::head);
        if (routes_[at].method != wanted || (best && !is_more_specific(patterns_[at], *best))) continue;
        best = &patterns_[at];
        match.route = &routes_[at];
    }
    if (best) {
        for (std::size_t at = 0; at < segments.size(); ++at) {
            auto const& name = (*best)[at];
            if (is_name(name)) match.path_values.emplace(name.substr(1, name.size() - 2), segments[at]);
        }
    }
    return match;
}

}  // namespace det::tracker::http
