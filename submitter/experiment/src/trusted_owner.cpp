#include <det/experiment/trusted_owner.hpp>

#include <fmt/format.h>
#include <pwd.h>
#include <vector>

namespace det::experiment {

Result<std::optional<uid_t>> find_trusted_owner(std::optional<std::string> const& name) {
    if (!name) return std::optional<uid_t>();
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    ::getpwnam_r(name->c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return std::optional(found->pw_uid);
    return Error{codes::usage, fmt::format("--trust-owner: there is no user '{}'", *name)};
}

}  // namespace det::experiment
