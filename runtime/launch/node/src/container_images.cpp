#include <det/foundation/base64.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/container_call.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>

#include "placeholders.hpp"

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
        case ContainerRuntime::custom:
        case ContainerRuntime::none:
            break;
    }
    return image;
}

namespace {

/// "sha256:..." of "name@sha256:...".
std::string digest_of(std::string const& image) {
    auto const at = image.rfind('@');
    if (at == std::string::npos) return "";
    auto const digest = image.substr(at + 1);
    constexpr string_view algorithm = "sha256:";
    bool const is_digest =
        digest.starts_with(algorithm) && digest.size() == algorithm.size() + 64 &&
        digest.find_first_not_of("0123456789abcdef", algorithm.size()) == std::string::npos;
    return is_digest ? digest.substr(algorithm.size()) : "";
}

std::string hash_of(std::string const& text) {
    Sha256 hash;
    hash.update(text);
    return hash.finish();
}

/// The URI of an image for enroot: "docker://nvcr.io#nvidia/pytorch:24.01". The part before the first '/' is
/// a registry if it has a dot or a colon.
std::string enroot_uri(std::string const& image) {
    if (image.find("://") != std::string::npos) return image;
    auto const slash = image.find('/');
    auto const first = image.substr(0, slash);
    bool const has_registry = slash != std::string::npos && first.find_first_of(".:") != std::string::npos;
    return "docker://" + (has_registry ? first + "#" + image.substr(slash + 1) : image);
}

}  // namespace

std::string image_file_name(ContainerSpec const& container, std::string const& image) {
    if (image.starts_with('/')) return "";
    auto const digest = digest_of(image);
    auto const stem = digest.empty() ? hash_of(image) : digest;
    switch (container.runtime) {
        case ContainerRuntime::apptainer:
        case ContainerRuntime::singularity:
            return stem + ".sif";
        case ContainerRuntime::enroot:
            return stem + ".sqsh";
        case ContainerRuntime::custom:
            // srun starts its containers before a program of det-submit could import an image.
            return container.is_started_by_srun() || container.custom->import_command.empty()
                       ? ""
                       : stem + ".image";
        case ContainerRuntime::podman:
        case ContainerRuntime::pyxis:
        case ContainerRuntime::none:
            break;
    }
    return "";
}

std::vector<std::string> render_import(ContainerSpec const& container, std::filesystem::path const& file) {
    auto const& image = container.image;
    switch (container.runtime) {
        case ContainerRuntime::apptainer:
        case ContainerRuntime::singularity:
            return {std::string(to_string(container.runtime)), "pull", "--force", file, image};
        case ContainerRuntime::enroot:
            return {"enroot", "import", "--output", file, enroot_uri(image)};
        case ContainerRuntime::custom:
            break;
        case ContainerRuntime::podman:
        case ContainerRuntime::pyxis:
        case ContainerRuntime::none:
            return {};
    }
    std::vector<std::string> argv;
    for (auto const& item : container.custom->import_command) {
        for (auto const word : split(item, ' ')) {
            if (word.empty()) continue;
            argv.push_back(replaced(replaced(std::string(word), "{file}", file.native()), "{image}", image));
        }
    }
    return argv;
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
