
#include <det/launch/node/container_call.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using config::ExperimentConfig;

constexpr std::string_view image_path = "environment.image";
constexpr std::string_view propagation_path = "bind_mounts.propagation";
constexpr std::string_view default_propagation = "rprivate";
constexpr std::string_view work_inside = "/run/determined/workdir/";

std::optional<SourceSpan> location_of_image(ExperimentConfig const& config, SlotType type) {
    auto const of_kind = config.where(fmt::format("{}.{}", image_path, to_string(type)));
    return of_kind ? of_kind : config.where(image_path);
}

/// A key that affects containers only.
struct ContainerKey {
    std::string_view path;
    bool is_used;
};
std::vector<ContainerKey> container_keys(ExperimentConfig const& config) {
    bool const propagates = std::ranges::any_of(config.bind_mounts, [](auto const& mount) {
        return !mount.propagation.empty() && mount.propagation != default_propagation;
    });
    return {{"bind_mounts", !config.bind_mounts.empty()},
            {propagation_path, propagates},
            {"environment.force_pull_image", config.environment.force_pull_image},
            {"resources.devices", !config.resources.devices.empty()},
            {"resources.shm_size", config.resources.shm_size_bytes.has_value()},
            {"environment.registry_auth", config.environment.registry_auth.has_value()},
            {"environment.add_capabilities", !config.environment.add_capabilities.empty()},
            {"environment.drop_capabilities", !config.environment.drop_capabilities.empty()}};
}

/// True if the runtime supports the key.
bool can(ContainerRuntime runtime, std::string_view path) {
    if (path == "bind_mounts" || runtime == ContainerRuntime::podman) return true;
    bool const is_apptainer = runtime == ContainerRuntime::apptainer;
    bool const pulls_anew = is_apptainer || runtime == ContainerRuntime::singularity ||
                            runtime == ContainerRuntime::pyxis;  // pyxis imports the image for each step
    if (path == "environment.force_pull_image") return pulls_anew;
    return is_apptainer && path.starts_with("environment.");
}

void warn_of_unused(ExperimentConfig const& config, bool has_container, site::Pool const& pool,
                    site::Site const& site, Diagnostics& found) {
    for (auto const& [path, is_used] : container_keys(config)) {
        bool const is_imported_anew = path == "environment.force_pull_image" && site.image_directory;
        if (!is_used || (has_container && (can(pool.container_runtime, path) || is_imported_anew))) continue;
        auto const why = has_container ? fmt::format("{} does not act on it", pool.container_name())
                                       : std::string("the experiment runs in no container");
        auto const section = path == propagation_path ? std::string_view("bind_mounts") : path;
        found.warn(with_location(
            config, section, Error{codes::not_supported, fmt::format("{} has no effect: {}", path, why)}));
    }
}

void check_path(ExperimentConfig const& config, std::string_view key, std::string const& path,
                Diagnostics& found) {
    if (path.find_first_of(":,") == std::string::npos) return;
    found.report(with_location(
        config, key,
        Error{codes::bad_value, fmt::format("'{}' can't be bound: it has a ':' or a ',' in it", path),
              "bind it under another name, or a directory above it"}));
}

ContainerTemplate template_of(config::ContainerTemplateEntry const& entry) {
    return {entry.name, entry.command, entry.srun_args,     entry.cuda,
            entry.rocm, entry.xpu,     entry.import_command};
}

ContainerSpec make_container(ExperimentConfig const& config, site::Site const& site,
                             SubmissionPlan const& plan, std::string const& image, Diagnostics& found) {
    ContainerSpec container;
    container.runtime = plan.pool.container_runtime;
    if (plan.pool.container_template) container.custom = template_of(*plan.pool.container_template);
    auto const file = launch::node::image_file_name(container, image);
    bool const is_imported = site.image_directory && !file.empty();
    // enroot start takes the name of a container of the user's, and enroot import that of a registry.
    bool const keeps_name = is_imported && container.runtime == ContainerRuntime::enroot;
    container.image = keeps_name ? image : launch::node::format_image_name(container.runtime, image);
    if (is_imported) container.image_file = *site.image_directory + "/" + file;
    for (auto const& mount : config.bind_mounts) {
        check_path(config, "bind_mounts", mount.host_path, found);
        check_path(config, "bind_mounts", mount.container_path, found);
        bool const is_absolute = mount.container_path.starts_with('/');
        container.mounts.push_back(
            {mount.host_path, (is_absolute ? "" : std::string(work_inside)) + mount.container_path,
             mount.read_only,
             mount.propagation.empty() ? std::string(default_propagation) : mount.propagation});
    }
    for (auto const& device : config.resources.devices) {
        container.devices.push_back({device.host_path, device.container_path, device.mode});
    }
    container.shm_size_bytes = static_cast<std::uint64_t>(config.resources.shm_size_bytes.value_or(0));
    container.pulls_always = config.environment.force_pull_image;
    container.add_capabilities = config.environment.add_capabilities;
    container.drop_capabilities = config.environment.drop_capabilities;
    return container;
}

}  // namespace

std::optional<ContainerSpec> plan_container(ExperimentConfig const& config, site::Site const& site,
                                            SubmissionPlan const& plan, Diagnostics& found) {
    auto const runtime = plan.pool.container_runtime;
    auto const type = plan.shape.slot_type;
    auto const image = config.environment.image.of(type);
    bool const is_required = config.slurm.container == config::ContainerUse::required;
    if (!image) {
        if (is_required)
            found.report(with_location(
                config, "slurm.container",
                Error{
                    codes::missing_key,
                    fmt::format("slurm.container is 'required', and there is no image for slots of type '{}'",
                                to_string(type)),
                    "name it under environment.image"}));
        return std::nullopt;
    }
    bool const has_container = runtime != ContainerRuntime::none;
    warn_of_unused(config, has_container, plan.pool, site, found);
    auto const place = location_of_image(config, type);
    auto const refuse = [&](std::string message, std::string hint) {
        Error error{codes::not_supported, std::move(message), std::move(hint)};
        error.where = place;
        return error;
    };
    if (image->starts_with('-') || image->empty()) {
        found.report(refuse(fmt::format("'{}' is no image", *image), "name an image"));
        return std::nullopt;
    }
    if (has_container) return make_container(config, site, plan, *image, found);
    if (is_required) {
        found.report(
            refuse(fmt::format("slurm.container is 'required', and pool '{}' runs no containers, so image "
                               "'{}' can't be used",
                               plan.pool.name, *image),
                   "use a pool that has a container_runtime, or leave slurm.container out"));
        return std::nullopt;
    }
    bool const is_default = place && !site.file.empty() && place->file == site.file;
    found.warn(refuse(
        fmt::format(
            "{} '{}' is not used: pool '{}' runs no containers, so the entrypoint runs with the programs of "
            "the nodes",
            is_default ? "the site's image" : "image", *image, plan.pool.name),
        is_default
            ? ""
            : "slurm.setup prepares them; 'slurm: {container: required}' makes a pool without containers an "
              "error"));
    return std::nullopt;
}

}  // namespace det::plan
