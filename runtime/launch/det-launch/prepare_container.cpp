#include "prepare_container.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/launch/node/import_image.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>

namespace det::launch {
namespace {

namespace fs = std::filesystem;
using node::ContainerCall;

/// Creates mount points in DET_RUN_DIR, because container runtimes without privileges can't create them.
Status make_places(ContainerCall const& call) {
    DET_TRY(make_directories(call.run_dir / node::programs_folder));
    DET_TRY(make_directories(call.run_dir / node::libraries_folder));
    DET_TRY(make_directories(call.run_dir / node::python_folder));
    for (auto const& library : call.libraries) {
        auto const place = call.run_dir / node::libraries_folder / library.filename();
        if (!path_exists(place)) DET_TRY(write_file(place, ""));
    }
    return Ok{};
}

/// registry_auth of the configuration, with the secret values that the stored configuration masks.
Json registry_auth(ExperimentSpec const& spec, fs::path const& experiment) {
    auto const in = [](Json const& document) {
        auto const environment = document.value("environment", Json::object());
        auto const auth = environment.is_object() ? environment.value("registry_auth", Json()) : Json();
        return auth.is_object() ? auth : Json::object();
    };
    auto auth = in(spec.config);
    auto const text = read_trusted_file(ExperimentLayout(experiment).at_revision(spec.revision()).secrets());
    if (text) auth.update(in(try_parse_json(*text)));
    return auth;
}

Result<bool> write_credentials(ContainerCall const& call, ExperimentSpec const& spec,
                               fs::path const& experiment) {
    auto const auth = registry_auth(spec, experiment);
    if (auth.empty()) return false;
    auto const file = node::render_credentials(call.container.runtime, auth);
    if (!file) return false;
    auto const folder = call.run_dir / node::registry_folder;
    DET_TRY(make_directory(folder));
    DET_TRY(write_secret_file(folder / file->name, file->text));
    return true;
}

std::vector<std::string> names_of(std::vector<std::string> const& variables) {
    std::vector<std::string> names;
    for (auto const& variable : variables) names.push_back(variable.substr(0, variable.find('=')));
    return names;
}

using Log = std::function<void(std::string_view)>;

/// The file of the image, which the first process of all nodes and jobs that needs it makes.
Result<std::string> import_once(ContainerSpec const& container, fs::path const& run_dir,
                                Environment environment, Log log) {
    auto const command = [&](fs::path const& file) { return node::render_import(container, file); };
    node::ImageImport import;
    import.file = container.image_file;
    import.command = command;
    import.environment = std::move(environment);
    import.log = std::move(log);
    // With force_pull_image a file counts that was made for this run.
    if (container.pulls_always) import.not_before = fs::last_write_time(run_dir / info_files::directory);
    SystemProcessRunner runner;
    DET_TRY_ASSIGN(auto const file, node::import_image(import, runner));
    return file.string();
}

/// The node's own copy of an image that is a file of slurm.stage; else the image.
std::string find_staged_image(ExperimentSpec const& spec, std::string const& image,
                              Environment const& environment) {
    auto const stage = environment.find_non_empty(variables::stage);
    for (auto const& file : staged_files(spec.config)) {
        bool const is_image = stage && file.path == image && !is_staged_archive(file.path);
        if (is_image) return *stage + "/" + staged_name(file.path);
    }
    return image;
}

}  // namespace

Result<node::ContainerProcess> prepare_container(std::vector<std::string> const& command,
                                                 Environment const& environment, fs::path const& programs,
                                                 std::function<void(std::string_view)> log) {
    auto const run_dir = environment.find_non_empty(variables::run_dir);
    if (!run_dir)
        return Error{codes::not_in_slurm, "DET_RUN_DIR is not set: this is no run of an experiment"};
    DET_TRY_ASSIGN(auto const text, read_file(fs::path(*run_dir) / info_files::directory / info_files::spec));
    DET_TRY_ASSIGN(auto const spec, parse_spec(text));
    if (!spec.container) return node::ContainerProcess{command, environment};

    ContainerCall call;
    call.container = *spec.container;
    call.run_dir = *run_dir;
    DET_TRY_ASSIGN(call.has_credentials,
                   write_credentials(call, spec, environment.find(variables::experiment_path).value_or("")));
    if (!call.container.image_file.empty()) {
        auto for_import = environment;
        if (call.has_credentials)
            for_import.set("APPTAINER_CONFIGDIR", *run_dir + "/" + std::string(node::registry_folder));
        DET_TRY_ASSIGN(call.container.image,
                       import_once(call.container, *run_dir, std::move(for_import), std::move(log)));
    }
    call.container.image = find_staged_image(spec, call.container.image, environment);
    call.slot_type = node::find_slot_type(spec.shape.slot_type);
    call.directories = {spec.root};
    if (!spec.checkpoint_path.empty() && !spec.checkpoint_path.starts_with(spec.root + "/")) {
        call.directories.emplace_back(spec.checkpoint_path);
        DET_TRY(make_directories(spec.checkpoint_path));
    }
    auto const cache = environment.find_non_empty(variables::compile_cache);
    if (cache && cache->front() == '/') call.directories.emplace_back(*cache);
    // The directory of the job has links into the one of this user.
    auto const stage = environment.find_non_empty(variables::stage);
    if (stage && stage->front() == '/')
        call.read_only_directories.emplace_back(fs::path(*stage).parent_path().parent_path());
    call.programs = programs;
    call.libraries = loaded_library_paths();
    for (auto& module : checkpoint::storage::store_modules(spec, environment))
        call.libraries.push_back(std::move(module));
    node::add_python_package(call);
    call.user_variables = names_of(spec.environment_variables);
    call.command = command;
    call.environment = environment;
    DET_TRY(make_places(call));
    DET_TRY(node::write_scontrol_shim(call.run_dir));
    return node::render_container(call);
}

}  // namespace det::launch
