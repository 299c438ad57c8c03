// Bootstrap checks the arguments of its public functions; its implementations exchange the values.
#include <det/transport/bootstrap.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::transport {
namespace {

bool is_key(std::string const& key) {
    auto const fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '_' || c == '-';
    };
    return !key.empty() && key.size() <= Bootstrap::key_limit_bytes && std::ranges::all_of(key, fits);
}

Status check_key(std::string const& key) {
    if (is_key(key)) return Ok{};
    return Error{codes::misuse, fmt::format("'{}' cannot be a key of the bootstrap", key)};
}

Status check_value(std::string const& value) {
    if (value.size() <= Bootstrap::value_limit_bytes) return Ok{};
    return Error{codes::misuse, fmt::format("a value of {} bytes: the bootstrap carries up to {}",
                                            value.size(), Bootstrap::value_limit_bytes)};
}

}  // namespace

Status Bootstrap::put(std::string const& key, std::string const& value) {
    DET_TRY(check_key(key));
    DET_TRY(check_value(value));
    if (!own_keys_.insert(key).second) {
        return Error{codes::misuse, fmt::format("rank {} puts '{}' twice", rank_.value, key)};
    }
    return do_put(key, value);
}

Result<std::string> Bootstrap::get(Rank from, std::string const& key) {
    DET_TRY(check_key(key));
    if (from.value < 0 || from.value >= size_) {
        return Error{codes::misuse,
                     fmt::format("rank {} has put nothing: there are {} ranks", from.value, size_)};
    }
    return do_get(from, key);
}

Result<std::vector<std::string>> Bootstrap::allgather(std::string const& value) {
    DET_TRY(check_value(value));
    return do_allgather(value);
}

Status Bootstrap::fence() {
    DET_TRY(do_allgather({}));
    return Ok{};
}

}  // namespace det::transport
