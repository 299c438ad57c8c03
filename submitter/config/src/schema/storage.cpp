#include <algorithm>
#include <fmt/format.h>

#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constinit Type const prefix{.shape = Shape::text, .rule = require_plain_prefix};

constexpr Effect container_path_effect =
    by_det_submit("where checkpoints of the storage 'directory' are", if_shared_fs);
constexpr Effect bucket_effect = by_det_submit("the bucket; gcs is refused");
constexpr Effect prefix_effect = by_det_submit("prefix of object names");

constexpr Key storage_common_keys[] = {
    required_when_merged({"type", text, "", "shared_fs, directory, s3, gcs or azure",
                          into<&CheckpointStorage::type>, by_det_submit("where checkpoints are")}),
    {"save_experiment_best", non_negative_integer, "0", "number of the experiment's best checkpoints to keep",
     into<&CheckpointStorage::save_experiment_best>, by_det_submit("which checkpoints stay")},
    {"save_trial_best", non_negative_integer, "1", "number of each trial's best checkpoints to keep",
     into<&CheckpointStorage::save_trial_best>, by_det_submit("which checkpoints stay")},
    {"save_trial_latest", non_negative_integer, "1", "number of each trial's latest checkpoints to keep",
     into<&CheckpointStorage::save_trial_latest>, by_det_submit("which checkpoints stay")},
};
// The keys save_* of checkpoint_storage do not exist here.
constexpr Key tensorboard_keys[] = {
    {"type", text, "", "shared_fs, directory, s3, gcs or azure"},
};
constexpr Key shared_fs_keys[] = {
    required_when_merged({"host_path", text, "", "a directory that every node mounts",
                          into<&SharedFsStorage::host_path>, by_det_submit("where checkpoints are")}),
    {"storage_path", text, "", "a directory below host_path", into<&SharedFsStorage::storage_path>,
     by_det_submit("where checkpoints are")},
    {"propagation", text, "rprivate", "mount propagation in the container",
     into<&SharedFsStorage::propagation>, no_effect("containers get the directory with rprivate")},
    {"container_path", text, "", "no longer used", no_field, container_path_effect},
    {"checkpoint_path", text, "", "no longer used", no_field, no_effect("it is no longer used")},
    {"tensorboard_path", text, "", "no longer used", no_field, no_effect("it is no longer used")},
};
constexpr Key directory_keys[] = {
    required_when_merged({"container_path", text, "", "a directory in the container",
                          into<&DirectoryStorage::container_path>, container_path_effect}),
};
constexpr Key s3_keys[] = {
    required_when_merged({"bucket", text, "", "the bucket", into<&S3Storage::bucket>, bucket_effect}),
    secret({"access_key", text, "", "default: from the AWS environment and files",
            into<&S3Storage::access_key>, by_det_submit("credentials of s3")}),
    secret({"secret_key", text, "", "default: from the AWS environment and files",
            into<&S3Storage::secret_key>, by_det_submit("credentials of s3")}),
    {"endpoint_url", text, "", "the URL of an S3-compatible service", into<&S3Storage::endpoint_url>,
     by_det_submit("the address of s3")},
    {"prefix", prefix, "", "prefix of every object name", into<&S3Storage::prefix>, prefix_effect},
};
constexpr Key gcs_keys[] = {
    required_when_merged({"bucket", text, "", "the bucket", into<&GcsStorage::bucket>, bucket_effect}),
    {"prefix", prefix, "", "prefix of every object name", into<&GcsStorage::prefix>, prefix_effect},
};
constexpr Key azure_keys[] = {
    required_when_merged({"container", text, "", "the container", into<&AzureStorage::container>,
                          by_det_submit("azure is refused")}),
    secret({"connection_string", text, "", "the connection string", into<&AzureStorage::connection_string>,
            by_det_submit("azure is refused")}),
    // A URL may contain a signature that grants access.
    secret({"account_url", text, "", "the account URL", into<&AzureStorage::account_url>,
            by_det_submit("azure is refused")}),
    secret({"credential", text, "", "for account_url", into<&AzureStorage::credential>,
            by_det_submit("azure is refused")}),
};
constexpr Key hdfs_keys[] = {
    required_when_merged({"hdfs_url", text, "", "the URL of the name node"}),
    required_when_merged({"hdfs_path", absolute_path, "", "the directory"}),
    {"user", text, "", "the user name"},
};

template <class Alternative>
constexpr auto into_storage_location = into_variant<&CheckpointStorage::location, Alternative>;

constexpr Member storage_members[] = {
    {"shared_fs", shared_fs_keys, into_storage_location<SharedFsStorage>},
    {"directory", directory_keys, into_storage_location<DirectoryStorage>},
    {"s3", s3_keys, into_storage_location<S3Storage>},
    {"gcs", gcs_keys, into_storage_location<GcsStorage>},
    {"azure", azure_keys, into_storage_location<AzureStorage>},
    {"hdfs", hdfs_keys, nullptr, "use 'shared_fs', or 's3'"},
};

std::string const* text_of(yaml::Node const& value, std::string_view key) {
    auto const* found = value.find(key);
    return found != nullptr ? found->text() : nullptr;
}

bool lies_below(std::string const& path, std::string const& top) {
    return path == top || path.starts_with(top.ends_with('/') ? top : top + "/");
}

void require_storage_below_host(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const* host_path = text_of(value, "host_path");
    auto const* storage_path = text_of(value, "storage_path");
    if (host_path == nullptr || storage_path == nullptr) return;
    auto const top = clean_path(*host_path);
    auto const below = clean_path(*storage_path);
    bool const is_below =
        below.starts_with('/') ? lies_below(below, top) : below != ".." && !below.starts_with("../");
    if (is_below) return;
    checker.refuse_value(
        *value.find("storage_path"),
        fmt::format("{}: storage_path must either be a relative directory or a subdirectory of host_path",
                    path.text()));
}

void require_azure_credentials(yaml::Node const& value, Path const& path, Checker& checker) {
    bool const has_string = text_of(value, "connection_string") != nullptr;
    bool const has_url = text_of(value, "account_url") != nullptr;
    if (has_string && text_of(value, "credential") != nullptr) {
        checker.refuse_value(*value.find("credential"),
                             path.text() + ": credential and connection_string must not both be set",
                             "remove one");
    }
    if (checker.is_merged() ? has_string == has_url : has_string && has_url) {
        checker.refuse(codes::bad_value,
                       path.text() + ": Exactly one of connection_string or account_url must be set",
                       "set one of them", value.location());
    }
}

void check_storage(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const* member = find_member(checkpoint_storage, value);
    if (member == nullptr || member->name == "shared_fs") require_storage_below_host(value, path, checker);
    if (member != nullptr && member->name == "azure") require_azure_credentials(value, path, checker);
}

/// Azure's credentials belong together: a layer with a connection string or a URL inherits no credentials
/// from a lower layer.
yaml::Node without_lower_credentials(yaml::Node const& high, yaml::Node const& low) {
    constexpr std::string_view block[] = {"connection_string", "account_url", "credential"};
    if (text_of(high, "connection_string") == nullptr && text_of(high, "account_url") == nullptr) return low;
    std::vector<yaml::Node::Entry> kept;
    for (auto const& entry : low.entries()) {
        if (std::find(std::begin(block), std::end(block), entry.key) == std::end(block))
            kept.push_back(entry);
    }
    return yaml::Node(std::move(kept), low.location());
}

}  // namespace

constinit Type const checkpoint_storage{.shape = Shape::tagged_union,
                                        .keys = storage_common_keys,
                                        .members = storage_members,
                                        .tag = "type",
                                        .rule = check_storage,
                                        .inheritable = without_lower_credentials};

// det-submit only checks tensorboard_storage. It writes nothing there.
constinit Type const tensorboard_storage{.shape = Shape::tagged_union,
                                         .keys = tensorboard_keys,
                                         .members = storage_members,
                                         .tag = "type",
                                         .rule = check_storage};

}  // namespace det::config::schema
