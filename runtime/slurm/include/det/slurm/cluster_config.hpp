#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace det::slurm {

/// The settings of slurmctld under slurm.conf's names, as far as every user can read them. Copies share the
/// settings.
class ClusterConfig {
public:
    using Settings = std::map<std::string, std::string, std::less<>>;
    explicit ClusterConfig(Settings const& settings = {});

    /// The value of a setting: "MaxArraySize" -> "1001"; nullopt if Slurm does not show it.
    std::optional<std::string> find(std::string_view name) const;
    /// The number at the beginning of the value, as in "300 sec".
    std::optional<std::int64_t> find_number(std::string_view name) const;
    /// The value of an option in a setting that is a list of options: in "a,b=3" it is "3" for b and "" for
    /// a. nullopt if the option is not in the list.
    std::optional<std::string> find_option_value(std::string_view name, std::string_view option) const;
    /// Whether a setting that is a list of options ("a,b=3") contains the option.
    bool has_option(std::string_view name, std::string_view option) const;

    /// Whether all jobs have the same priority, whatever their nice: PriorityType is priority/multifactor,
    /// the default from Slurm 24.05 on, and every PriorityWeight is 0.
    bool has_equal_priorities() const;

    /// The text that it was parsed from.
    std::string const& text() const;

private:
    class Table;
    explicit ClusterConfig(std::shared_ptr<Table const> table) : table_(std::move(table)) {}
    friend ClusterConfig parse_cluster_config(std::string output);

    std::shared_ptr<Table const> table_;
};

/// Parses the output of `scontrol show config`: lines "Name = value"; other lines are titles.
ClusterConfig parse_cluster_config(std::string output);

}  // namespace det::slurm
