#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace det::checkpoint::s3 {

struct Credentials {
    std::string access_key;
    std::string secret_key;
    std::string session_token = {};  // for temporary credentials
    friend bool operator==(Credentials const&, Credentials const&) = default;
};

/// The user's settings for the AWS tools, from the same variables and files. Of several names, the first one
/// that is set counts.
struct AwsSettings {
    /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile (AWS_PROFILE, or
    /// "default") in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; else in AWS_CONFIG_FILE or
    /// ~/.aws/config. Roles, SSO and instance metadata services are not supported.
    std::optional<Credentials> credentials = {};
    /// AWS_DEFAULT_REGION, AWS_REGION, or the region of the profile.
    std::optional<std::string> region = {};
    /// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.
    std::optional<std::string> endpoint_url = {};
};

/// Reads the variables and files. Missing files are ignored. Fails with codes::permission if the first place
/// that has an access key or a secret key has only one of them.
Result<AwsSettings> load_aws_settings(Environment const& environment);

using Profile = std::map<std::string, std::string, std::less<>>;

/// Parses the lines "name = value" of [section]; names become lower-case, and indented lines are ignored.
/// Returns nullopt if there is no such section. Pure.
std::optional<Profile> parse_profile(std::string_view text, std::string_view section);

}  // namespace det::checkpoint::s3
