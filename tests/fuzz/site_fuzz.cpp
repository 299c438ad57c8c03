// Fuzzes the parsers of site data: the site file, plugstack.conf, the plugin's shared object, GRES strings,
// what sacctmgr prints, and what compute nodes report.
#include <det/config/site_file.hpp>
#include <det/site/accounting_limits.hpp>
#include <det/site/judge_preflight.hpp>
#include <det/site/site.hpp>
#include <det/site/spank_plugin.hpp>
#include <det/slurm/recorded_cluster.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace det;

void require(bool holds, char const* invariant) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", invariant);
    std::abort();
}

void check_site_file(std::string_view text) {
    auto const site = config::parse_site_file(text, "site.yaml");
    if (!site) return require(site.error().has_errors(), "a refused file has an error");
    for (auto const& pool : site->pools) {
        require(!pool.name.empty() && !pool.partition.empty(), "every pool has a name and a partition");
        (void)config::merge_layers(config::site_defaults(*site, &pool));
        (void)config::merge_layers(config::site_invariants(*site, &pool));
    }
    auto const pools = site::make_site({}, *site).pools;
    require(pools.size() == site->pools.size(), "every pool of the file is a pool of the site");
}

void check_accounting(std::string_view text) {
    auto const accounting = slurm::parse_accounting(text, text, text);
    for (auto const& association : accounting.associations) {
        (void)accounting.ancestors(association);
        for (auto const& limit : site::find_exceeded_limits(
                 accounting, {association.user, association.account, "gpu", ""}, {2, 8, "a100"}))
            require(limit.asked > limit.allowed, "only a limit below the request is exceeded");
    }
}

void check_preflight(std::string_view text) {
    auto const facts = parse_preflight_facts(text);
    if (!facts) return;
    auto const again = parse_preflight_facts(render_preflight_facts(*facts));
    require(again && render_preflight_facts(*again) == render_preflight_facts(*facts), "facts are kept");
    (void)site::judge_preflight({"gpu", 2, true, "apptainer", "/det"}, {}, {*facts});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check_site_file(text);
    for (auto const& line : site::parse_plugstack(text)) require(!line.path.empty(), "a line has a path");
    (void)site::find_plugin_version(text);
    (void)site::parse_gpu_groups(text);
    (void)slurm::parse_recorded_cluster(text);
    check_accounting(text);
    check_preflight(text);
    return 0;
}
