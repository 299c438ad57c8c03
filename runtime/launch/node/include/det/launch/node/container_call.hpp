#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/container.hpp>
#include <det/protocol/launch.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::node {

/// Where things of ours are seen inside.
inline constexpr char run_dir_inside[] = "/run/determined";
/// Below DET_RUN_DIR, outside and inside: our programs, and the libraries that they need.
inline constexpr char programs_folder[] = "host/bin";
inline constexpr char libraries_folder[] = "host/lib/det-host";  // as the programs' RPATH has it
inline constexpr char registry_folder[] = "registry";            // credentials, in the runtime's form

/// A container on this node, and what is to be seen in it.
struct ContainerCall {
    ContainerSpec container;
    SlotType slot_type = SlotType::cpu;
    std::filesystem::path run_dir;                   // DET_RUN_DIR
    std::vector<std::filesystem::path> directories;  // of the experiment, at their own paths, writable
    std::filesystem::path programs;                  // the folder of our programs
    std::vector<std::filesystem::path> libraries;
    bool has_credentials = false;             // there is a file in the registry folder
    std::vector<std::string> user_variables;  // names, from the configuration
    std::vector<std::string> command;
    Environment environment;
};

struct ContainerProcess {
    std::vector<std::string> argv;
    Environment environment;
};

/// The command line that runs the command in the container, and stands for it: signals and exit codes pass
/// through. No value of a variable is in it. Not for pyxis, whose containers srun makes. Pure.
ContainerProcess render_container(ContainerCall const& call);

/// srun's options for pyxis, which begins the container before anything of ours runs: DET_RUN_DIR is made
/// inside, below local_directory. Pure.
std::vector<std::string> render_pyxis_options(ContainerCall const& call,
                                              std::filesystem::path const& local_directory);

/// An image as users write it, in the words of a runtime: apptainer takes a path, or a name with its
/// transport (docker:// where none is said); podman and pyxis any name; enroot the name of a container that
/// the user has created, with '+' for '/' and ':'. Pure.
std::string resolve_image(ContainerRuntime runtime, std::string const& image);

/// The file name and content by which a runtime is given credentials for a registry; nothing where it knows
/// of no file. auth: registry_auth of a configuration. Pure.
struct CredentialsFile {
    std::string name;
    std::string text;
};
std::optional<CredentialsFile> render_credentials(ContainerRuntime runtime, Json const& auth);

}  // namespace det::launch::node
