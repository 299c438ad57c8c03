#include <det/experiment/check_accounting.hpp>
#include <det/experiment/load_site.hpp>
#include <det/experiment/site_trust.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/user_name.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t site_limit_bytes = std::size_t{1} << 20;
constexpr char site_file_path[] = "/etc/det/site.yaml";
constexpr char site_variable[] = "DET_SITE";

/// Fails unless only root, this user and those of the rules can write the file.
Status check_writers(fs::path const& path, std::string const& what, TrustRules const& rules) {
    DET_TRY_ASSIGN(auto const access, load_access(path, rules));
    if (!has_trusted_owner(access.info, rules)) {
        return Error{codes::unsafe_owner,
                     fmt::format("{} belongs to another user, {}", what, name_of_user(access.info.st_uid)),
                     fmt::format("use one of root's, of yours or of the owner of det-submit; root can list "
                                 "others in trusted_owners of '{}'",
                                 site_file_path)};
    }
    if (access.can_others_write) {
        return Error{codes::unsafe_owner, fmt::format("others can write into {}", what),
                     fmt::format("chmod go-w '{}'", path.string())};
    }
    return Ok{};
}

/// Checks the file that `path` resolves to, and the directories of the path. A user who can write one of
/// these could replace the file or a symbolic link to it.
Status check_trusted_file(fs::path const& path, std::string_view what, TrustRules const& rules) {
    std::error_code failure;
    auto const real = fs::canonical(path, failure);
    if (failure) return os_error(fmt::format("open the {} '{}'", what, path.string()), failure.value());
    if (auto above = check_trusted_ancestors(path, rules); !above)
        return std::move(above).error().while_doing(fmt::format("checking the {} '{}'", what, path.string()));
    return check_writers(real, fmt::format("the {} '{}'", what, real.string()), rules);
}

Result<config::SiteFile, Diagnostics> load_trusted(fs::path const& path, TrustRules const& rules) {
    DET_TRY(check_trusted_file(path, "site file", rules));
    auto const text = read_file(path, site_limit_bytes);
    if (!text) return Error(text.error()).while_doing("reading the site file");
    return config::parse_site_file(*text, path.string());
}

/// The rules for the site file that DET_SITE names. A file can't vouch for itself: the trusted_owners are
/// those of the site file in /etc.
TrustRules rules_for_named_file() {
    if (path_exists(site_file_path)) {
        if (auto const standard = load_trusted(site_file_path, installation_rules())) {
            auto rules = site_rules(*standard);
            rules.trusted_ancestors.clear();
            return rules;
        }
    }
    return installation_rules();
}

/// Whether the cluster's memory limit can be less than what trials of the pool would request.
bool may_have_memory_limit(site::Pool const& pool) {
    return pool.has_whole_memory && !pool.memory_max.exists() &&
           std::ranges::any_of(pool.kinds, [](auto const& kind) { return kind.memory_mib > 0; });
}

/// Without the cluster's configuration a trial could ask for more memory than a job may have; it is an error
/// only where that can happen.
Status add_cluster_settings(site::Site& site, Context& context, Freshness freshness) {
    auto const config = query_cluster_config(context, Freshness::recent);
    if (!config && std::ranges::none_of(site.pools, may_have_memory_limit)) return Ok{};
    if (!config) return config.error();
    site::apply_cluster_settings(site, *config, find_job_accounting(*config, context, freshness));
    return Ok{};
}

}  // namespace

Result<config::SiteFile, Diagnostics> load_site_file(Environment const& environment) {
    auto const named = environment.find_non_empty(site_variable);
    fs::path const path = named.value_or(site_file_path);
    if (!named && !path_exists(path)) return config::SiteFile{};
    return load_trusted(path, named ? rules_for_named_file() : installation_rules());
}

Result<std::string> load_job_template(config::SiteFile const& file) {
    fs::path path = data_directory() / "templates" / "job" / "trial.sbatch";
    if (file.job_template) {
        path = *file.job_template;
        if (auto trusted = check_trusted_file(path, "job template", site_rules(file)); !trusted) {
            auto error = std::move(trusted).error();
            error.where = file.where("job_template");
            return error;
        }
    }
    auto text = read_file(path, site_limit_bytes);
    if (!text) return std::move(text).error().while_doing("reading the job template");
    return text;
}

Result<site::Site, Diagnostics> load_site(config::SiteFile const& file, Context& context,
                                          Freshness freshness) {
    DET_TRY_ASSIGN(auto const partitions, query_partitions(context, freshness));
    auto site = site::make_site(partitions, file);
    if (site.image_directory)
        site.image_directory =
            config::expand_storage_root(*site.image_directory, user_name(context.environment));
    DET_TRY(add_cluster_settings(site, context, freshness));
    return site;
}

FindDefaultPools find_default_pools_of(config::SiteFile const& file, Context& context) {
    return [&]() -> site::DefaultPools {
        auto const partitions = query_partitions(context, Freshness::recent);
        if (!partitions) {
            context.warn(Error(partitions.error())
                             .noting("the site file names no default_compute_pool, and Slurm is not there to "
                                     "ask"));
            return {};
        }
        return site::make_site(*partitions, file).default_pools;
    };
}

}  // namespace det::experiment
