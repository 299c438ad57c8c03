#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace det::config {

/// A setting that depends on the slot type of a trial.
template <class T>
struct PerSlotKind {
    T cpu;
    T cuda;
    T rocm;
};

struct EnvironmentVariable {
    std::string name;
    std::string value;

    friend bool operator==(EnvironmentVariable const&, EnvironmentVariable const&) = default;
};
/// In the order in which they are set: of two with the same name the later one is used.
using EnvironmentVariables = std::vector<EnvironmentVariable>;

struct RegistryAuth {
    std::optional<std::string> username;
    std::optional<std::string> password;
    std::optional<std::string> server_address;
};

struct Environment {
    PerSlotKind<std::optional<std::string>> image;
    PerSlotKind<EnvironmentVariables> environment_variables;
    std::map<std::string, std::int64_t> ports;
    bool force_pull_image = false;
    std::optional<RegistryAuth> registry_auth;
    std::vector<std::string> add_capabilities;
    std::vector<std::string> drop_capabilities;
};

}  // namespace det::config
