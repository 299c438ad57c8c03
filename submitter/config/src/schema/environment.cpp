#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constexpr std::string_view slot_kinds[] = {"cpu", "cuda", "rocm"};

yaml::Node::Entry renamed(yaml::Node::Entry entry) {
    if (entry.key == "gpu") entry.key = "cuda";
    return entry;
}

/// Renames the key gpu to cuda. If both are present, gpu is dropped.
yaml::Node gpu_as_cuda(yaml::Node const& value) {
    if (value.find("gpu") == nullptr) return value;
    std::vector<yaml::Node::Entry> entries;
    bool const has_cuda = value.find("cuda") != nullptr;
    for (auto const& entry : value.entries()) {
        if (entry.key != "gpu" || !has_cuda) entries.push_back(renamed(entry));
    }
    return yaml::Node(std::move(entries), value.location());
}

/// \return The value as a map from slot type to value. A single value applies to every slot type: those that
/// Determined knows, and xpu, which has that of cpu.
yaml::Node per_slot_kind(yaml::Node const& value) {
    if (value.is_map()) return gpu_as_cuda(value);
    std::vector<yaml::Node::Entry> entries;
    for (auto const kind : slot_kinds) entries.push_back({std::string(kind), value.location(), value});
    return yaml::Node(std::move(entries), value.location());
}

void require_variable(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const& written = *value.text();
    auto const name = written.substr(0, written.find('='));
    bool const is_name = !name.empty() && name.find_first_of(" \t\r\n") == std::string::npos;
    if (is_name) return;
    checker.refuse_value(value, path.text() + " must be NAME=VALUE, found '" + written + "'");
}

constinit Type const variable{.shape = Shape::text,
                              .expected = "a string NAME=VALUE",
                              .hint = "write NAME=VALUE, without a colon",
                              .rule = require_variable};
constinit Type const variable_list{
    .shape = Shape::list, .expected = "a list of NAME=VALUE", .item = &variable};

using Variables = PerSlotKind<EnvironmentVariables>;
constexpr Key variables_keys[] = {
    {"cpu", variable_list, "[]", "for trials on CPUs", into<&Variables::cpu>},
    {"cuda", variable_list, "[]", "for trials on NVIDIA GPUs", into<&Variables::cuda>},
    {"rocm", variable_list, "[]", "for trials on AMD GPUs", into<&Variables::rocm>},
    {"xpu", variable_list, "", "for trials on Intel GPUs; default: those of cpu", into<&Variables::xpu>},
    {"gpu", variable_list, "", "the old name of cuda"},
};
constinit Type const variables_map = object_of(variables_keys);
constexpr Type const* variables_alternatives[] = {&variable_list, &variables_map};
constinit Type const environment_variables{
    .shape = Shape::either,
    .expected = "a list of NAME=VALUE, or a map from cpu, cuda, rocm and xpu to such lists",
    .alternatives = variables_alternatives,
    .normalise = per_slot_kind};

using Images = PerSlotKind<std::optional<std::string>>;
constexpr Key image_keys[] = {
    {"cpu", text, "", "for trials on CPUs", into<&Images::cpu>},
    {"cuda", text, "", "for trials on NVIDIA GPUs", into<&Images::cuda>},
    {"rocm", text, "", "for trials on AMD GPUs", into<&Images::rocm>},
    {"xpu", text, "", "for trials on Intel GPUs; default: that of cpu", into<&Images::xpu>},
    {"gpu", text, "", "the old name of cuda"},
};
constinit Type const image_map = object_of(image_keys);
constexpr Type const* image_alternatives[] = {&text, &image_map};
constinit Type const image{
    .shape = Shape::either,
    .expected = "a string, or a map from cpu, cuda, rocm and xpu to strings",
    .determined_message = "is neither a string nor a map of cpu, cuda, or rocm to strings",
    .alternatives = image_alternatives,
    .normalise = per_slot_kind};

constinit Type const port_map{.shape = Shape::map, .expected = "a map of names to ports", .item = &integer};

constexpr Effect no_proxy =
    no_effect("no master forwards connections; connect to the node, or through ssh -L");
constexpr Key proxy_port_keys[] = {
    required({"proxy_port", integer, "", "the port"}),
    {"proxy_tcp", boolean, "false", "true: TCP instead of HTTP", no_field, no_proxy},
    {"unauthenticated", boolean, "false", "true: no login is needed", no_field, no_proxy},
    {"default_service_id", boolean, "false", "true: the trial's main port", no_field, no_proxy},
};
constinit Type const proxy_port = object_of(proxy_port_keys);
constinit Type const proxy_ports{
    .shape = Shape::list, .item = &proxy_port, .merge = Merge::by_item_key, .item_key = "proxy_port"};

constexpr Key registry_keys[] = {
    {"username", text, "", "the user name", into<&RegistryAuth::username>},
    secret({"password", text, "", "the password", into<&RegistryAuth::password>}),
    secret({"auth", text, "", "user name and password, encoded"}),
    {"email", text, "", "for old registries", no_field, no_effect("registries no longer ask for it")},
    {"serveraddress", text, "", "the registry", into<&RegistryAuth::server_address>},
    secret({"identitytoken", text, "", "used instead of a password"}),
    secret({"registrytoken", text, "", "used instead of a password"}),
};
constinit Type const registry_auth = object_of(registry_keys);

constexpr Key environment_keys[] = {
    {"image", image, "", "the container image: one, or one for each slot type", into<&Environment::image>,
     by_det_submit("the container of the entrypoint; none where the pool runs no containers",
                   if_script_without_container)},
    {"environment_variables", environment_variables, "{}", "NAME=VALUE: one list, or one for each slot type",
     into<&Environment::environment_variables>,
     by_det_submit("the environment of the ranks; NAME= keeps the value that the job has")},
    {"ports", port_map, "{}", "a map of names to ports", into<&Environment::ports>,
     by_det_submit(
         "DET_PORT_<NAME> and DET_PORTS: the port, or a free one if it is taken on the first node")},
    {"proxy_ports", proxy_ports, "[]", "ports that Determined's master forwards", no_field,
     by_det_submit(
         "DET_PORT_<NUMBER> and DET_PORTS: the port, or a free one if it is taken on the first node")},
    {"force_pull_image", boolean, "false", "true: pull the image for each run",
     into<&Environment::force_pull_image>,
     by_det_submit("podman and apptainer get the image anew for each run", if_without_image)},
    {"registry_auth", registry_auth, "", "how to log in to the registry", into<&Environment::registry_auth>,
     by_det_submit("the file with credentials of podman and apptainer", if_without_image)},
    {"add_capabilities", text_list, "[]", "Linux capabilities to add", into<&Environment::add_capabilities>,
     by_det_submit("options of podman and apptainer", if_without_image)},
    {"drop_capabilities", text_list, "[]", "Linux capabilities to drop",
     into<&Environment::drop_capabilities>,
     by_det_submit("options of podman and apptainer", if_without_image)},
    {"pod_spec", free_map, "", "", no_field, ignored("it is for Kubernetes")},
};

}  // namespace

constinit Type const environment = object_of(environment_keys);

}  // namespace det::config::schema
