#include <det/foundation/base64.hpp>
#include <det/launch/node/container_call.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>

namespace det::launch::node {
namespace {

using std::string_view;

constexpr string_view apptainer_transports[] = {"instance://", "library://",        "shub://",
                                                "oras://",     "docker-archive://", "docker://"};

template <std::size_t N>
bool has_any_prefix(string_view image, string_view const (&prefixes)[N]) {
    return std::ranges::any_of(prefixes, [&](string_view prefix) { return image.starts_with(prefix); });
}

std::string apptainer_image(std::string const& image) {
    return image.starts_with('/') || has_any_prefix(image, apptainer_transports) ? image
                                                                                 : "docker://" + image;
}

std::string enroot_image(std::string image) {
    std::ranges::replace_if(
        image, [](char c) { return c == '/' || c == ':'; }, '+');
    return image;
}

}  // namespace

std::string format_image_name(ContainerRuntime runtime, std::string const& image) {
    switch (runtime) {
        case ContainerRuntime::apptainer:
        case ContainerRuntime::singularity:
            return apptainer_image(image);
        case ContainerRuntime::enroot:
            return enroot_image(image);
        case ContainerRuntime::podman:  // podman tries local images first, and accepts "docker:" and others
        case ContainerRuntime::pyxis:
        case ContainerRuntime::none:
            break;
    }
    return image;
}

std::optional<CredentialsFile> render_credentials(ContainerRuntime runtime, Json const& auth) {
    bool const is_apptainer = runtime == ContainerRuntime::apptainer;
    if (!is_apptainer && runtime != ContainerRuntime::podman) return std::nullopt;
    auto const text = [&](char const* key) {
        return auth.contains(key) && auth[key].is_string() ? auth[key].get<std::string>() : std::string();
    };
    Json entry = Json::object();
    auto const given = text("auth");
    if (!given.empty()) {
        entry["auth"] = given;
    } else if (!text("username").empty()) {
        entry["auth"] = encode_base64(text("username") + ":" + text("password"));
    }
    for (auto const* key : {"identitytoken", "registrytoken"}) {
        if (!text(key).empty()) entry[key] = text(key);
    }
    auto server = text("serveraddress");
    if (server.empty()) server = is_apptainer ? "https://index.docker.io/v1/" : "docker.io";
    return CredentialsFile{is_apptainer ? "docker-config.json" : "auth.json",
                           to_line(Json{{"auths", Json{{server, entry}}}}) + "\n"};
}

}  // namespace det::launch::node
