// Fuzzes the parsers of site data: the site file, plugstack.conf, the plugin's shared object, GRES strings.
#include <det/config/site_file.hpp>
#include <det/site/site.hpp>
#include <det/site/spank_plugin.hpp>

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    check_site_file(text);
    for (auto const& line : site::parse_plugstack(text)) require(!line.path.empty(), "a line has a path");
    (void)site::find_plugin_version(text);
    (void)site::parse_gpu_groups(text);
    return 0;
}
