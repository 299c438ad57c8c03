#pragma once
#include <det/foundation/error.hpp>

#include <cassert>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace det {

/// A value or an error. The members are named as those of std::expected; unlike there, an error converts to a
/// Result without std::unexpected. It is no std::variant, because most functions return one: with a variant,
/// such functions took 1.2 to 1.8 times as long to compile.
template <class T, class E = Error>
class [[nodiscard]] Result {
public:
    using value_type = T;
    using error_type = E;

    Result(T value) : value_(std::move(value)), has_value_(true) {}
    Result(E error) : error_(std::move(error)), has_value_(false) {}
    /// Converts a single Error to E, for example to Diagnostics with one entry.
    template <std::same_as<Error> Single>
    requires(!std::same_as<E, Error> && !std::same_as<T, Error> && std::convertible_to<Single, E>)
        Result(Single error)
        : error_(std::move(error)), has_value_(false) {}

    Result(Result const& other) requires std::is_copy_constructible_v<T> : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, other.value_);
        else
            std::construct_at(&error_, other.error_);
    }
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, std::move(other.value_));
        else
            std::construct_at(&error_, std::move(other.error_));
    }
    Result& operator=(Result other) noexcept(std::is_nothrow_move_constructible_v<T>) {
        this->~Result();
        return *std::construct_at(this, std::move(other));
    }
    ~Result() {
        if (has_value_)
            std::destroy_at(&value_);
        else
            std::destroy_at(&error_);
    }

    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value(); }

    T& operator*() & {
        assert(has_value());
        return value_;
    }
    T const& operator*() const& {
        assert(has_value());
        return value_;
    }
    T&& operator*() && {
        assert(has_value());
        return std::move(value_);
    }
    T* operator->() { return &**this; }
    T const* operator->() const { return &**this; }

    E& error() & {
        assert(!has_value());
        return error_;
    }
    E const& error() const& {
        assert(!has_value());
        return error_;
    }
    E&& error() && {
        assert(!has_value());
        return std::move(error_);
    }

    template <class U>
    T value_or(U&& otherwise) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
    }

private:
    union {
        T value_;
        E error_;
    };
    bool has_value_;
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
