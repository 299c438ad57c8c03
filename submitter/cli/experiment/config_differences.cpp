#include "experiment/config_differences.hpp"

#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace det::cli {
namespace {

constexpr std::array<std::string_view, 5> naming_keys{"name", "description", "labels", "workspace",
                                                      "project"};
constexpr std::string_view variables_key = "environment.environment_variables";

/// Whether a word of the name is or ends with one that names secrets (WANDB_API_KEY, PGPASSWORD, but not
/// MAX_TOKENS), or the value is an address with a password in it.
bool may_be_secret(std::string_view variable, std::string_view value) {
    constexpr std::array<std::string_view, 11> endings{"key",    "token",      "secret",     "pass",
                                                       "passwd", "pwd",        "password",   "passphrase",
                                                       "auth",   "credential", "credentials"};
    auto const name = to_lower(variable);
    for (auto const word : split(name, '_')) {
        if (word == "pat" || std::ranges::any_of(endings, [&](auto each) { return word.ends_with(each); }))
            return true;
    }
    auto const host = value.find("://");
    return host != std::string_view::npos && value.find('@', host) != std::string_view::npos;
}

/// Reads ["NAME=VALUE", "NAME"]. The last value of a name counts.
ConfigValues variables_in(Json const& list) {
    ConfigValues values;
    if (!list.is_array()) return values;
    for (auto const& each : list) {
        if (!each.is_string()) continue;
        auto const& text = each.get_ref<std::string const&>();
        auto const name = text.substr(0, text.find('='));
        auto const value = name.size() < text.size() ? text.substr(name.size() + 1) : "";
        values[name] =
            !value.empty() && may_be_secret(name, value) ? std::string(config::masked_value) : value;
    }
    return values;
}

/// Adds a key for each variable, or one for each slot type whose jobs have another value.
void add_variables(Json const& variables, ConfigValues& values) {
    if (variables.is_array()) return add_variables(Json{{"all", variables}}, values);
    if (!variables.is_object()) return;
    std::map<std::string, ConfigValues> by_name;  // values by slot type
    for (auto const& [slot_type, list] : variables.items()) {
        for (auto& [name, value] : variables_in(list)) by_name[name][slot_type] = std::move(value);
    }
    for (auto const& [name, by_type] : by_name) {
        auto const path = std::string(variables_key) + '.' + name;
        auto const& first = by_type.begin()->second;
        bool const is_same =
            by_type.size() == variables.size() &&
            std::ranges::all_of(by_type, [&](auto const& each) { return each.second == first; });
        if (is_same) {
            values[path] = first;
            continue;
        }
        for (auto const& [slot_type, value] : by_type) values[path + '.' + slot_type] = value;
    }
}

void add_values(Json const& value, std::string const& path, ConfigValues& values) {
    if (path == variables_key) return add_variables(value, values);
    if (!value.is_object() || (value.empty() && !path.empty())) {
        if (!value.is_null()) values[path] = value;
        return;
    }
    for (auto const& [name, inner] : value.items()) {
        if (path.empty() && std::ranges::find(naming_keys, name) != naming_keys.end()) continue;
        add_values(inner, path.empty() ? name : path + '.' + name, values);
    }
}

}  // namespace

std::vector<ConfigValues> find_config_differences(std::vector<Json> const& configs) {
    std::vector<ConfigValues> all(configs.size());
    std::set<std::string> keys;
    for (std::size_t i = 0; i < configs.size(); ++i) {
        if (configs[i].is_object()) add_values(configs[i], "", all[i]);
        for (auto const& [key, value] : all[i]) keys.insert(key);
    }
    std::vector<ConfigValues> differences(configs.size());
    for (auto const& key : keys) {
        auto const value_in = [&](ConfigValues const& values) {
            auto const found = values.find(key);
            return found == values.end() ? Json() : found->second;
        };
        auto const first = value_in(all.front());
        bool const is_same =
            std::ranges::all_of(all, [&](auto const& values) { return value_in(values) == first; });
        if (is_same) continue;
        for (std::size_t i = 0; i < all.size(); ++i) differences[i][key] = value_in(all[i]);
    }
    return differences;
}

}  // namespace det::cli
