#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/json_value.hpp>
#include <det/protocol/launch_options.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::node {

/// The path of DET_RUN_DIR inside a container. With pyxis it has the same path inside and outside.
inline constexpr char run_dir_inside[] = "/run/determined";
/// Folders below DET_RUN_DIR, outside and inside the container, for the programs of det-submit and the
/// libraries that they need.
inline constexpr char programs_folder[] = "host/bin";
inline constexpr char libraries_folder[] = "host/lib/det-host";  // the programs' RPATH names it
inline constexpr char python_folder[] = "host/lib/det-submit";   // the Python package
inline constexpr char commands_folder[] = "commands";            // scripts for commands that an image lacks
inline constexpr char registry_folder[] = "registry";            // credentials in the format of the runtime

/// A container on this node and what is visible inside it.
struct ContainerCall {
    ContainerSpec container;
    SlotType slot_type = SlotType::cpu;
    std::filesystem::path run_dir;                   // DET_RUN_DIR
    std::vector<std::filesystem::path> directories;  // writable, mounted at the same paths
    std::vector<std::filesystem::path> read_only_directories;
    std::filesystem::path programs;  // the directory of det-submit's programs
    std::vector<std::filesystem::path> libraries;
    std::filesystem::path python;             // the directory of the Python package; empty: not installed
    bool has_credentials = false;             // the registry folder has a credentials file
    std::vector<std::string> user_variables;  // names of the variables in environment_variables
    std::vector<std::string> command;
    Environment environment;
};

/// Writes the script `scontrol` into commands_folder. It supports only `scontrol requeue` of the job itself.
Status write_scontrol_shim(std::filesystem::path const& run_dir);

struct ContainerProcess {
    std::vector<std::string> argv;
    Environment environment;
};

/// Adds the Python package that is installed beside call.programs, and libdet, which it loads. The package
/// finds libdet in a neighbour of its own directory.
void add_python_package(ContainerCall& call);

/// The command line that runs the command in the container. Signals and exit codes pass through. The command
/// line has names of variables, but no values that users have set. For pyxis, whose containers srun starts,
/// and without a container, it is the command itself. Pure.
ContainerProcess render_container(ContainerCall const& call);

/// srun's options for pyxis. It starts the container before any program of det-submit, so that DET_RUN_DIR is
/// created inside it, below local_directory. Pure.
std::vector<std::string> render_pyxis_options(ContainerCall const& call,
                                              std::filesystem::path const& local_directory);

/// srun's options of a site's template. If the template has no command, the container has the mounts of a
/// container of pyxis. Pure.
std::vector<std::string> render_template_options(ContainerCall const& call,
                                                 std::filesystem::path const& local_directory);

/// The command that makes container.image_file of the image, in `file`. Empty: the runtime has none. Pure.
std::vector<std::string> render_import(ContainerSpec const& container, std::filesystem::path const& file);

/// The name of the file that is made of an image in a shared directory: its digest, or, without one, a hash
/// of its name, with the suffix of the runtime's files. Empty for a path, for runtimes that make none, and
/// for an image that the user has imported himself. Pure.
std::string image_file_name(ContainerSpec const& container, std::string const& image);

/// An image name in the form that a runtime takes: apptainer takes a path, or a name with its transport
/// (docker:// is added if there is none); podman and pyxis take any name; enroot takes the name of a
/// container that the user has created, with '+' for '/' and ':'. Pure.
std::string format_image_name(ContainerRuntime runtime, std::string const& image);

/// A file that gives a runtime credentials for a registry.
struct CredentialsFile {
    std::string name;
    std::string text;
};
/// Returns the credentials in the format of the runtime; nullopt if the runtime reads no such file. Pure.
/// \param auth registry_auth of a configuration
std::optional<CredentialsFile> render_credentials(ContainerRuntime runtime, Json const& auth);

}  // namespace det::launch::node
