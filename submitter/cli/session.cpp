#include "session.hpp"

#include <det/protocol/json.hpp>

#include <ostream>
#include <pwd.h>
#include <unistd.h>
#include <vector>

namespace det::cli {

void Session::answer(Json const& json) const {
    out << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void Session::say(std::string const& line) const { err << line << std::endl; }

void Session::warn(Error error) const { print(err, Diagnostic{Severity::warning, std::move(error)}, style); }

std::string user_name(Environment const& environment) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return found->pw_name;
    return environment.find("USER").value_or(std::to_string(::geteuid()));
}

std::string host_name() {
    char name[256] = "localhost";
    ::gethostname(name, sizeof name - 1);
    return name;
}

}  // namespace det::cli
