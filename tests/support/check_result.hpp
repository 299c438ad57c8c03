#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>

#include <boost/test/unit_test.hpp>
#include <sstream>

namespace det {

inline std::string explain(Error const& error) {
    std::ostringstream out;
    print(out, error, RenderStyle{});
    return out.str();
}

inline std::string explain(Diagnostics const& diagnostics) {
    std::ostringstream out;
    print(out, diagnostics, RenderStyle{});
    return out.str();
}

// Both call Boost.Test only to fail: its checks may not be used by several threads at a time.

/// Returns the value. If the result is an error, the test ends and shows it.
template <class T, class E>
T must(Result<T, E> result) {
    if (!result) BOOST_FAIL(explain(result.error()));
    return *std::move(result);
}

/// Returns the error. If the result is a value, the test ends.
template <class T, class E>
E must_fail(Result<T, E> result) {
    if (result.has_value()) BOOST_FAIL("an error was expected");
    return std::move(result).error();
}

}  // namespace det
