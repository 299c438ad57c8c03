#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det {

/// Environment variables as a value. Programs capture them in main(), and libdet when a Context is made. They
/// are passed on as an argument, so that tests can pass other ones.
class Environment {
public:
    Environment() = default;
    explicit Environment(std::map<std::string, std::string, std::less<>> variables);
    static Environment of_this_process();

    std::optional<std::string> find(std::string_view name) const;
    /// Like find(), but returns nullopt for an empty value.
    std::optional<std::string> find_non_empty(std::string_view name) const;
    void set(std::string name, std::string value);
    void unset(std::string_view name);
    void unset_with_prefix(std::string_view prefix);

    /// The strings "NAME=value" for execve.
    std::vector<std::string> to_list() const;

    friend bool operator==(Environment const&, Environment const&) = default;

private:
    std::map<std::string, std::string, std::less<>> variables_;
};

}  // namespace det
