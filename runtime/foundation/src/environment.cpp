#include <det/foundation/environment.hpp>

#include <unistd.h>

namespace det {

Environment::Environment(std::map<std::string, std::string, std::less<>> variables)
    : variables_(std::move(variables)) {}

Environment Environment::of_this_process() {
    Environment environment;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        std::string_view const line(*entry);
        auto const equals = line.find('=');
        if (equals == std::string_view::npos || equals == 0) continue;
        environment.set(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    }
    return environment;
}

std::optional<std::string> Environment::find(std::string_view name) const {
    auto const found = variables_.find(name);
    if (found == variables_.end()) return std::nullopt;
    return found->second;
}

std::optional<std::string> Environment::find_non_empty(std::string_view name) const {
    auto value = find(name);
    if (value && value->empty()) return std::nullopt;
    return value;
}

void Environment::set(std::string name, std::string value) {
    variables_.insert_or_assign(std::move(name), std::move(value));
}

void Environment::unset(std::string_view name) {
    if (auto const found = variables_.find(name); found != variables_.end()) variables_.erase(found);
}

void Environment::unset_with_prefix(std::string_view prefix) {
    std::erase_if(variables_, [&](auto const& variable) { return variable.first.starts_with(prefix); });
}

std::vector<std::string> Environment::to_list() const {
    std::vector<std::string> list;
    list.reserve(variables_.size());
    for (auto const& [name, value] : variables_) list.push_back(name + "=" + value);
    return list;
}

}  // namespace det
