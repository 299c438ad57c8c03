#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det::loopback {

/// One line of slurm.conf.
struct ConfigLine {
    std::string key;
    std::string value;
    friend bool operator==(ConfigLine const&, ConfigLine const&) = default;
};

/// A program and the Debian package that contains it.
struct Program {
    char const* name;
    char const* package;
};

/// A kind of nodes, of which a site has several.
struct NodeKind {
    std::string_view slot_type;  // of its fake GPUs
    int slots = 0;               // per node; `up --slots` may lower it
};

enum class Accounting { none, slurmdbd };

/// What a site decides for its users: a row of the table in site_profile.cpp.
struct SiteProfile {
    std::string_view name;
    std::vector<ConfigLine> slurm_options = {};     // replace our lines of slurm.conf
    std::vector<std::string_view> slot_types = {};  // of a node's fake GPUs, in equal parts; empty: no type
    std::vector<NodeKind> node_kinds = {};          // of equal parts of the nodes; empty: all nodes are alike
    int sockets = 0;  // of a node, each with its part of the CPUs and GPUs; 0: Slurm counts CPUs only
    std::string_view oversubscribe = "EXCLUSIVE";  // OverSubscribe of both partitions
    std::vector<std::string_view> files = {};      // of site-configs/loopback/profiles, copied to etc/
    std::vector<ConfigLine> cgroup_options = {};   // more lines of cgroup.conf; need cgroup v2
    Accounting accounting = Accounting::none;
    std::vector<Program> programs = {};  // needed in addition to those of every cluster
    std::vector<std::pair<std::string, std::string>> user_variables = {};  // of researcher's logins
    std::vector<std::vector<std::string>> setup = {};  // commands that root runs when the nodes are idle
};

std::vector<SiteProfile> const& profiles();
std::optional<SiteProfile> find_profile(std::string_view name);
/// The profile of a site without policies.
SiteProfile const& plain_profile();

}  // namespace det::loopback
