#pragma once
#include <det/foundation/error.hpp>

#include <cassert>
#include <concepts>
#include <utility>
#include <variant>

namespace det {

/// A value or an error. The members are named as those of std::expected; unlike there, an error converts to a
/// Result without std::unexpected.
template <class T, class E = Error>
class [[nodiscard]] Result {
public:
    using value_type = T;
    using error_type = E;

    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}
    /// Converts a single Error to E, for example to Diagnostics with one entry.
    template <std::same_as<Error> Single>
    requires(!std::same_as<E, Error> && !std::same_as<T, Error> && std::convertible_to<Single, E>)
        Result(Single error)
        : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T& operator*() & {
        assert(has_value());
        return *std::get_if<0>(&state_);
    }
    T const& operator*() const& {
        assert(has_value());
        return *std::get_if<0>(&state_);
    }
    T&& operator*() && {
        assert(has_value());
        return std::move(*std::get_if<0>(&state_));
    }
    T* operator->() { return &**this; }
    T const* operator->() const { return &**this; }

    E& error() & {
        assert(!has_value());
        return *std::get_if<1>(&state_);
    }
    E const& error() const& {
        assert(!has_value());
        return *std::get_if<1>(&state_);
    }
    E&& error() && {
        assert(!has_value());
        return std::move(*std::get_if<1>(&state_));
    }

    template <class U>
    T value_or(U&& otherwise) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
    }

private:
    std::variant<T, E> state_;
};

/// The value type of a Result that carries no value.
struct Ok {
    friend constexpr bool operator==(Ok, Ok) { return true; }
};
using Status = Result<Ok>;

}  // namespace det

#define DET_CONCAT_(a, b) a##b
#define DET_CONCAT(a, b) DET_CONCAT_(a, b)

#define DET_TRY_(status, expr)                \
    do {                                      \
        if (auto status = (expr); !status) {  \
            return std::move(status).error(); \
        }                                     \
    } while (false)

/// Returns from the function if `expr` is an error. A function with the error type Diagnostics may use it for
/// a Result with an Error.
#define DET_TRY(expr) DET_TRY_(DET_CONCAT(det_status_, __LINE__), expr)

#define DET_TRY_ASSIGN_(result, var, expr)         \
    auto result = (expr);                          \
    if (!result) return std::move(result).error(); \
    var = *std::move(result)

/// Declares or assigns `var` with the value of `expr`, or returns its error from the function.
#define DET_TRY_ASSIGN(var, expr) DET_TRY_ASSIGN_(DET_CONCAT(det_result_, __LINE__), var, expr)
