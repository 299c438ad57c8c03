#include <det/checkpoint/s3/aws_settings.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <filesystem>
#include <fmt/format.h>

namespace det::checkpoint::s3 {
namespace {

namespace fs = std::filesystem;

using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The names of the access key, the secret key and the session token in the environment or in a file.
struct Names {
    char const* access_key;
    char const* secret_key;
    char const* session_token;
};
constexpr Names in_environment{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};
constexpr Names in_file{"aws_access_key_id", "aws_secret_access_key", "aws_session_token"};

Result<std::optional<Credentials>> find_credentials(Names const& names, Lookup const& find,
                                                    std::string const& place) {
    auto const key = find(names.access_key), secret = find(names.secret_key);
    if (!key && !secret) return std::optional<Credentials>();
    if (!key || !secret) {
        return Error{codes::permission,
                     fmt::format("{} has only one of {} and {}", place, names.access_key, names.secret_key)};
    }
    return std::optional(Credentials{*key, *secret, find(names.session_token).value_or("")});
}

/// The path of a file of the AWS tools: the value of `variable`, else ~/.aws/<name>; nullopt if HOME is not
/// set.
std::optional<fs::path> locate(Environment const& environment, char const* variable, char const* name) {
    if (auto const path = environment.find_non_empty(variable)) return *path;
    auto const home = environment.find_non_empty("HOME");
    return home ? std::optional(fs::path(*home) / ".aws" / name) : std::nullopt;
}

Result<Profile> load_profile(std::optional<fs::path> const& file, std::string const& section) {
    if (!file || !path_exists(*file)) return Profile();
    DET_TRY_ASSIGN(auto const text, read_file(*file));
    return parse_profile(text, section).value_or(Profile());
}

Lookup lookup_in(Profile const& profile) {
    return [&profile](std::string_view name) -> std::optional<std::string> {
        auto const found = profile.find(name);
        return found != profile.end() ? std::optional(found->second) : std::nullopt;
    };
}

std::optional<std::string> first_of(Environment const& environment,
                                    std::initializer_list<std::string_view> names) {
    for (auto const name : names) {
        if (auto value = environment.find_non_empty(name)) return value;
    }
    return std::nullopt;
}

}  // namespace

std::optional<Profile> parse_profile(std::string_view text, std::string_view section) {
    std::optional<Profile> profile;
    bool is_inside = false;
    for (auto const line : split_lines(text)) {
        auto const text_of_line = trim(line);
        if (text_of_line.empty() || text_of_line.front() == '#' || text_of_line.front() == ';') continue;
        if (text_of_line.front() == '[') {
            is_inside = text_of_line.back() == ']' &&
                        trim(text_of_line.substr(1, text_of_line.size() - 2)) == section;
            if (is_inside && !profile) profile.emplace();
            continue;
        }
        auto const equals = text_of_line.find('=');
        // Indented lines belong to a nested section ("s3 =") and are ignored.
        bool const is_setting =
            line.front() != ' ' && line.front() != '\t' && equals != std::string_view::npos;
        if (is_inside && is_setting)
            (*profile)[to_lower(trim(text_of_line.substr(0, equals)))] =
                trim(text_of_line.substr(equals + 1));
    }
    return profile;
}

Result<AwsSettings> load_aws_settings(Environment const& environment) {
    auto const name = environment.find_non_empty("AWS_PROFILE").value_or("default");
    auto const keys_file = locate(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    auto const config_file = locate(environment, "AWS_CONFIG_FILE", "config");
    DET_TRY_ASSIGN(auto const keys, load_profile(keys_file, name));
    DET_TRY_ASSIGN(auto const config,
                   load_profile(config_file, name == "default" ? name : "profile " + name));
    struct Source {
        Names const& names;
        Lookup find;
        std::string place;
    };
    Source const sources[] = {
        {in_environment, [&](auto variable) { return environment.find_non_empty(variable); },
         "the environment"},
        {in_file, lookup_in(keys), keys_file.value_or("").string()},
        {in_file, lookup_in(config), config_file.value_or("").string()},
    };
    AwsSettings settings;
    for (auto const& source : sources) {
        if (settings.credentials) break;
        DET_TRY_ASSIGN(settings.credentials, find_credentials(source.names, source.find, source.place));
    }
    settings.region = first_of(environment, {"AWS_DEFAULT_REGION", "AWS_REGION"});
    if (!settings.region) settings.region = lookup_in(config)("region");
    settings.endpoint_url = first_of(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
    return settings;
}

}  // namespace det::checkpoint::s3
