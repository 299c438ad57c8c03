#pragma once
#include <det/det.h>
#include <det/foundation/result.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

// The boundary between C and C++: no exception crosses it. An Error becomes a status, and its text becomes
// the last error of the thread.
namespace det::capi {

/// Stores the error as the last error of the thread and returns its status.
det_status fail(Error const& error) noexcept;
det_status fail_without_memory() noexcept;
det_status fail_in_surprise(char const* what) noexcept;

/// Runs `body`, which returns a Status, and converts errors and exceptions. Every C function that returns a
/// det_status uses it, directly or through a function that it calls.
template <class Body>
det_status guarded(Body&& body) noexcept {
    try {
        Status const done = body();
        return done ? DET_OK : fail(done.error());
    } catch (std::bad_alloc const&) {
        return fail_without_memory();
    } catch (std::exception const& surprise) {
        return fail_in_surprise(surprise.what());
    } catch (...) {
        return fail_in_surprise("something that is no std::exception was thrown");
    }
}

/// Fails with codes::misuse if `pointer` is NULL. `name` is the name of the argument.
Status require(void const* pointer, std::string_view name);

template <class... Rest>
Status require(void const* pointer, std::string_view name, Rest... rest) {
    DET_TRY(require(pointer, name));
    return require(rest...);
}

template <class T>
concept Growing = std::same_as<decltype(T::struct_size), std::size_t>;

Status check_size(std::size_t given, std::string_view name);
Error too_new(std::string_view name);

/// Copies a structure that the caller may have compiled with an older (shorter) or newer (longer)
/// declaration. Missing members are zero. Unknown members must be zero.
template <Growing T>
Result<T> read(T const* given, std::string_view name) {
    T known{};
    if (given == nullptr) return known;
    DET_TRY(check_size(given->struct_size, name));
    std::memcpy(&known, given, std::min(given->struct_size, sizeof known));
    auto const* const bytes = reinterpret_cast<unsigned char const*>(given);
    for (auto at = sizeof known; at < given->struct_size; ++at) {
        if (bytes[at] != 0) return too_new(name);
    }
    return known;
}

/// Copies a structure to the caller, up to the struct_size that the caller has set.
template <Growing T>
void write(T* to, T value) {
    value.struct_size = to->struct_size;
    std::memcpy(to, &value, std::min(value.struct_size, sizeof value));
}

}  // namespace det::capi
