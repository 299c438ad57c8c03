#include <det/experiment/trusted_owner.hpp>

#include <fmt/format.h>
#include <pwd.h>
#include <vector>

namespace det::experiment {

std::optional<uid_t> find_user(std::string const& name) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found == nullptr ? std::nullopt : std::optional(found->pw_uid);
}

Result<std::optional<uid_t>> find_trusted_owner(std::optional<std::string> const& name) {
    if (!name) return std::optional<uid_t>();
    if (auto const user = find_user(*name)) return user;
    return Error{codes::usage, fmt::format("--trust-owner: there is no user '{}'", *name)};
}

}  // namespace det::experiment
