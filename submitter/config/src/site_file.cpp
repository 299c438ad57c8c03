#include <det/config/site_file.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/yaml/parse.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "check.hpp"
#include "merge.hpp"
#include "schema/assign.hpp"
#include "schema/tables.hpp"

namespace det::config {
namespace {

using yaml::Node;

constexpr std::int64_t newest_version = 1;

/// Masks the secrets of all partial configurations in the file.
Diagnostics without_secrets(Diagnostics found, Node const& document) {
    auto const mask_part = [&](Node const& owner) {
        for (auto const* key : {"task_defaults", "invariants"}) {
            if (auto const* part = owner.find(key)) found = mask_secrets(found, *part);
        }
    };
    mask_part(document);
    if (auto const* pools = document.find("pools")) {
        for (auto const& pool : pools->items()) mask_part(pool);
    }
    return found;
}

Status check_version(Node const& document) {
    auto const* version = document.find("version");
    auto const* number = version != nullptr ? version->integer() : nullptr;
    if (number == nullptr || *number <= newest_version) return Ok{};
    return Error{
        codes::newer_format,
        fmt::format("the site file has version {}, this det-submit reads up to {}", *number, newest_version),
        "use a newer det-submit", version->location().span()};
}

Result<Node, Diagnostics> parse(std::string_view text, std::string origin) {
    auto document = yaml::parse_document(text, std::move(origin));
    if (!document) return mask_secrets_by_name(document.error());
    if (document->is_map()) return *std::move(document);
    return Error{codes::wrong_type,
                 fmt::format("a site file is a map of keys to values, found {}", describe(*document)),
                 "begin with 'version: 1'", document->location().span()};
}

Node nested(std::string_view section, std::string_view key, Node const& value) {
    auto const& location = value.location();
    Node const inner(std::vector<Node::Entry>{{std::string(key), location, value}}, location);
    return Node(std::vector<Node::Entry>{{std::string(section), location, inner}}, location);
}

void add_args(std::vector<Layer>& layers, std::string_view key, Node const& args) {
    if (args.is_list()) layers.push_back({nested("slurm", key, args)});
}

/// A key of the site and its pools that is a variable of every trial, unless the trial sets it.
struct VariableKey {
    std::string_view name;
    Node PoolEntry::*of_pool;
    Node SiteFile::*of_site;
};
constexpr VariableKey variable_keys[] = {
    {variables::inter_node_network_interface, &PoolEntry::network_interface, &SiteFile::network_interface},
    {variables::host_suffix, &PoolEntry::host_suffix, &SiteFile::host_suffix},
};

void add_variable(std::vector<Layer>& layers, std::string_view name, Node const& value) {
    if (!value.is_text()) return;
    Node const variable(Node::Scalar(fmt::format("{}={}", name, *value.text())), value.location());
    layers.push_back(
        {nested("environment", "environment_variables", Node(Node::List{variable}, value.location()))});
}

void add_part(std::vector<Layer>& layers, Node const& part) {
    if (part.is_map()) layers.push_back({part});
}

constexpr std::string_view scheduler_names[] = {"priority", "fair_share"};

}  // namespace

std::string_view to_string(Scheduler scheduler) {
    return scheduler_names[static_cast<std::size_t>(scheduler)];
}

PoolEntry const* SiteFile::find_pool(std::string_view wanted) const {
    auto const found =
        std::find_if(pools.begin(), pools.end(), [&](auto const& pool) { return pool.name == wanted; });
    return found == pools.end() ? nullptr : &*found;
}

std::optional<SourceSpan> SiteFile::where(std::string_view key) const {
    auto const* value = document.find(key);
    return value != nullptr ? value->location().span() : std::nullopt;
}

Result<SiteFile, Diagnostics> parse_site_file(std::string_view text, std::string origin) {
    DET_TRY_ASSIGN(auto const written, parse(text, origin));
    DET_TRY(check_version(written));
    Checker checker(Checker::Phase::sanity, nullptr, schema::site_file);
    checker.check(written, schema::site_file, Path{}, written.location());
    auto found = without_secrets(std::move(checker).finish(), written);
    if (found.has_errors()) return found;

    SiteFile site;
    site.document = normalise(written, schema::site_file);
    schema::assign_object(&site, site.document, schema::site_file);
    site.path = std::move(origin);
    site.warnings = std::move(found);
    if (auto const* pools = site.document.find("pools")) {
        for (std::size_t i = 0; i < site.pools.size(); ++i)
            site.pools[i].location = pools->items()[i].location();
    }
    for (auto& pool : site.pools) {
        if (pool.partition.empty()) pool.partition = pool.name;
    }
    return site;
}

std::vector<Layer> site_defaults(SiteFile const& site, PoolEntry const* pool) {
    std::vector<Layer> layers;
    if (pool != nullptr) {
        add_part(layers, pool->task_defaults);
        add_args(layers, "sbatch_args", pool->sbatch_args);
        add_args(layers, "srun_args", pool->srun_args);
        for (auto const& key : variable_keys) add_variable(layers, key.name, pool->*key.of_pool);
    }
    add_part(layers, site.task_defaults);
    add_args(layers, "sbatch_args", site.sbatch_args);
    add_args(layers, "srun_args", site.srun_args);
    for (auto const& key : variable_keys) {
        bool const has_own = pool != nullptr && (pool->*key.of_pool).is_text();
        if (!has_own) add_variable(layers, key.name, site.*key.of_site);
    }
    return layers;
}

std::vector<Layer> site_invariants(SiteFile const& site, PoolEntry const* pool) {
    std::vector<Layer> layers;
    add_part(layers, site.invariants);
    if (pool != nullptr) add_part(layers, pool->invariants);
    return layers;
}

std::string_view to_string(Sharing sharing) { return sharing == Sharing::group ? "group" : "private"; }

std::optional<Sharing> parse_sharing(std::string_view text) {
    for (auto const sharing : {Sharing::only_owner, Sharing::group}) {
        if (text == to_string(sharing)) return sharing;
    }
    return std::nullopt;
}

std::optional<RootsOfUsers> roots_of_users(std::string_view storage_root) {
    constexpr std::string_view user = "/%u";
    auto const at = storage_root.find(user);
    if (at == std::string_view::npos) return std::nullopt;
    auto const rest = storage_root.substr(at + user.size());
    bool const is_whole_name = rest.empty() || rest.front() == '/';
    auto const directory = storage_root.substr(0, at);
    if (!is_whole_name || rest.find("%u") != rest.npos || directory.find("%u") != directory.npos)
        return std::nullopt;
    auto below = expand_storage_root(rest, "");
    below.erase(0, below.find_first_not_of('/'));
    return RootsOfUsers{directory.empty() ? "/" : expand_storage_root(directory, ""), std::move(below)};
}

std::string expand_storage_root(std::string_view storage_root, std::string_view user) {
    std::string path;
    for (std::size_t i = 0; i < storage_root.size(); ++i) {
        bool const is_escape = storage_root[i] == '%' && i + 1 < storage_root.size();
        if (!is_escape) {
            path += storage_root[i];
        } else if (storage_root[++i] == 'u') {
            path += user;
        } else {
            path += '%';
        }
    }
    return path;
}

std::optional<std::int64_t> parse_time_limit_s(std::string_view text) {
    auto const dash = text.find('-');
    bool const has_days = dash != std::string_view::npos;
    std::int64_t seconds = 0;
    if (has_days) {
        auto const days = parse_integer<std::uint32_t>(text.substr(0, dash));
        if (!days) return std::nullopt;
        seconds = std::int64_t{*days} * 86400;
    }
    auto const parts = split(has_days ? text.substr(dash + 1) : text, ':');
    if (parts.size() > 3) return std::nullopt;
    // After days the first part is hours; otherwise three parts begin with hours, fewer with minutes.
    std::int64_t unit = has_days || parts.size() == 3 ? 3600 : 60;
    for (auto const part : parts) {
        auto const number = parse_integer<std::uint32_t>(part);
        if (!number) return std::nullopt;
        seconds += std::int64_t{*number} * unit;
        unit = unit == 3600 ? 60 : 1;
    }
    return seconds;
}

}  // namespace det::config
