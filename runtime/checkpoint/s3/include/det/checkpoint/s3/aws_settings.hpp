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
    std::string session_token = {};  // of temporary ones
    friend bool operator==(Credentials const&, Credentials const&) = default;
};

/// What a user has told the AWS tools, read as these do.
struct AwsSettings {
    /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; else the profile (AWS_PROFILE, or
    /// "default") in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials; else in AWS_CONFIG_FILE or
    /// ~/.aws/config. Roles, SSO and the services of clouds that hand out credentials are not asked.
    std::optional<Credentials> credentials = {};
    /// AWS_DEFAULT_REGION, AWS_REGION, or the profile's.
    std::optional<std::string> region = {};
    /// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.
    std::optional<std::string> endpoint_url = {};
};

/// Reads those files. Absent ones say nothing. codes::permission where one holds a key without its other
/// half.
Result<AwsSettings> load_aws_settings(Environment const& environment);

using Profile = std::map<std::string, std::string, std::less<>>;

/// The lines "name = value" of [section]; nothing where there is no such section. Pure.
std::optional<Profile> parse_profile(std::string_view text, std::string_view section);

}  // namespace det::checkpoint::s3
