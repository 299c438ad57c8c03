#include <det/checkpoint/s3/s3_store.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>

#include <fmt/format.h>

namespace det::checkpoint::storage {
namespace {

using Opened = Result<std::unique_ptr<checkpoint::Store>>;

/// The object checkpoint_storage of a configuration or of secrets.json; an empty object if there is none.
Json storage_in(Json const& config) {
    auto const found = config.is_object() ? config.value("checkpoint_storage", Json::object()) : Json();
    return found.is_object() ? found : Json::object();
}

/// The text value of a key; empty if the value is missing, null or not text.
std::string text_of(Json const& storage, char const* key) {
    auto const value = storage.value(key, Json());
    return value.is_string() ? value.get<std::string>() : std::string();
}

/// Opens the store of the types shared_fs and directory, which differ only in how their path is configured.
Opened open_shared_fs(ExperimentSpec const& spec, Environment const&) {
    return Opened(std::make_unique<checkpoint::SharedFsStore>(spec.checkpoint_path));
}
std::string shared_fs_place(ExperimentSpec const& spec) { return spec.checkpoint_path; }

/// Loads checkpoint_storage from the experiment's secrets.json. The file exists only if the experiment has
/// secrets.
Result<Json> load_storage_secrets(ExperimentSpec const& spec) {
    auto const file = ExperimentLayout(RootLayout(spec.root), spec.id).secrets();
    if (spec.root.empty() || !path_exists(file)) return Json::object();
    DET_TRY_ASSIGN(auto const text, read_trusted_file(file));
    return decode_json(file.string(), [&] { return storage_in(parse_json(text)); });
}

/// The credentials of the configuration, else those of the user's AWS settings.
Result<checkpoint::s3::Credentials> choose_credentials(Json const& secrets,
                                                       checkpoint::s3::AwsSettings const& settings) {
    checkpoint::s3::Credentials own{text_of(secrets, "access_key"), text_of(secrets, "secret_key")};
    if (!own.access_key.empty() && !own.secret_key.empty()) return own;
    if (!own.access_key.empty() || !own.secret_key.empty()) {
        return Error{codes::permission, "of access_key and secret_key only one is configured",
                     "set both in checkpoint_storage, or none"};
    }
    if (settings.credentials) return *settings.credentials;
    return Error{codes::permission, "there are no credentials for S3",
                 "set access_key and secret_key in checkpoint_storage, AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials"};
}

Opened open_s3(ExperimentSpec const& spec, Environment const& environment) {
    auto const storage = storage_in(spec.config);
    if (foreign_owner_of(spec.root)) {
        return Error{
            codes::not_yours,
            "its checkpoints are in a bucket that another user names: your credentials are not sent there",
            "open the bucket with a program for S3"};
    }
    DET_TRY_ASSIGN(auto secrets, load_storage_secrets(spec));
    if (spec.root.empty()) secrets = storage;  // the program passed the section, credentials included
    DET_TRY_ASSIGN(auto const settings, checkpoint::s3::load_aws_settings(environment));
    checkpoint::s3::Options options;
    options.bucket = text_of(storage, "bucket");
    options.prefix = text_of(storage, "prefix");
    options.endpoint_url = text_of(storage, "endpoint_url");
    if (options.endpoint_url.empty()) options.endpoint_url = settings.endpoint_url.value_or("");
    options.region = settings.region.value_or(options.region);
    DET_TRY_ASSIGN(options.credentials, choose_credentials(secrets, settings));
    for (auto const* variable : {variables::local_dir, "TMPDIR"}) {
        auto const directory = environment.find_non_empty(variable);
        if (!directory) continue;
        options.staging = *directory;
        break;
    }
    options.modules = checkpoint::s3::module_candidates(environment);
    return checkpoint::s3::open_s3_store(std::move(options));
}

std::string s3_place(ExperimentSpec const& spec) {
    auto const storage = storage_in(spec.config);
    return fmt::format(
        "{} {}", text_of(storage, "endpoint_url"),
        checkpoint::s3::render_address(text_of(storage, "bucket"), text_of(storage, "prefix")));
}

struct Type {
    std::string_view name;
    Opened (*open)(ExperimentSpec const& spec, Environment const& environment);
    std::string (*place)(ExperimentSpec const& spec);
};
constexpr Type types[] = {{"shared_fs", open_shared_fs, shared_fs_place},
                          {"directory", open_shared_fs, shared_fs_place},
                          {"s3", open_s3, s3_place}};

std::string type_name(ExperimentSpec const& spec) {
    auto const name = text_of(storage_in(spec.config), "type");
    return name.empty() ? "shared_fs" : name;
}

Type const* find_type(std::string_view name) {
    for (auto const& type : types) {
        if (type.name == name) return &type;
    }
    return nullptr;
}

}  // namespace

void compare_with_journals(ExperimentSpec const& spec, checkpoint::Store& store) {
    if (spec.root.empty()) return;
    journal::ManifestSums const journals(RootLayout(spec.root), spec.id);
    store.set_recorded_sums(
        [journals](std::string const& uuid, std::string const& run) { return journals.find(uuid, run); });
    if (!spec.source_checkpoint) return;
    if (!spec.source_checkpoint_sha256.empty())
        store.expect_sum(*spec.source_checkpoint, spec.source_checkpoint_sha256);
    if (spec.source_checkpoint_owner)
        store.trust_owner(*spec.source_checkpoint, *spec.source_checkpoint_owner);
}

Opened open_store(ExperimentSpec const& spec, Environment const& environment) {
    auto const name = type_name(spec);
    if (auto const* type = find_type(name)) {
        DET_TRY_ASSIGN(auto store, type->open(spec, environment));
        compare_with_journals(spec, *store);
        return store;
    }
    return Error{codes::not_supported,
                 fmt::format("checkpoint storage '{}' is not built into this program", name),
                 "use 'type: s3', or 'type: shared_fs' with a directory that all nodes see as 'host_path'"};
}

Opened open_store(Json const& storage, Environment const& environment) {
    ExperimentSpec spec;
    spec.config = Json{{"checkpoint_storage", storage}};
    bool const is_directory = type_name(spec) == "directory";
    std::filesystem::path const path =
        text_of(storage_in(spec.config), is_directory ? "container_path" : "host_path");
    spec.checkpoint_path = is_directory ? path : path / text_of(storage_in(spec.config), "storage_path");
    bool const needs_path = is_directory || type_name(spec) == "shared_fs";
    if (needs_path && path.empty())
        return Error{codes::misuse, fmt::format("checkpoint storage '{}' has no path", type_name(spec))};
    return open_store(spec, environment);
}

std::vector<std::filesystem::path> store_modules(ExperimentSpec const& spec, Environment const& environment) {
    if (type_name(spec) != "s3") return {};
    auto files = checkpoint::s3::module_candidates(environment);
    std::erase_if(files, [](auto const& file) { return !file.is_absolute(); });
    if (files.size() > 1) files.resize(1);
    return files;
}

std::string storage_identity(ExperimentSpec const& spec) {
    auto const* type = find_type(type_name(spec));
    return type != nullptr ? type->place(spec) : std::string();
}

}  // namespace det::checkpoint::storage
