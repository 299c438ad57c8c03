#include <det/foundation/text.hpp>
#include <det/launch/node/container_call.hpp>
#include <det/launch/node/container_variables.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "placeholders.hpp"

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;
using std::string_view;
using Arguments = std::vector<std::string>;

/// The first and the last part of the shell script that starts a command in a container; the lines of
/// extend_python() stand between them. The script puts det-submit's programs first in PATH, commands that the
/// image may lack last, and the Python package last in PYTHONPATH. Then it changes to the run's working
/// directory.
constexpr string_view begin_inside =
    "PATH=/run/determined/host/bin:$PATH:/run/determined/commands; "
    "export PYTHONPATH=\"${PYTHONPATH:+$PYTHONPATH:}/run/determined/host/lib/det-submit/python-path\"; ";
constexpr string_view enter_inside =
    "cd -P /run/determined/workdir 2>/dev/null || cd /run/determined; exec "
    "\"$@\"";

void add(Arguments& argv, Arguments const& more) { argv.insert(argv.end(), more.begin(), more.end()); }

void add_directories(std::vector<ContainerMount>& mounts, ContainerCall const& call) {
    for (auto const& directory : call.directories) mounts.push_back({directory, directory});
    for (auto const& directory : call.read_only_directories) mounts.push_back({directory, directory, true});
}

/// All mounts: those of det-submit first, then the user's.
std::vector<ContainerMount> all_mounts(ContainerCall const& call) {
    std::vector<ContainerMount> mounts{{call.run_dir, run_dir_inside}};
    auto const inside = fs::path(run_dir_inside);
    mounts.push_back({call.programs, inside / programs_folder, true});
    for (auto const& library : call.libraries) {
        mounts.push_back({library, inside / libraries_folder / library.filename(), true});
    }
    if (!call.python.empty()) mounts.push_back({call.python, inside / python_folder, true});
    add_directories(mounts, call);
    mounts.insert(mounts.end(), call.container.mounts.begin(), call.container.mounts.end());
    return mounts;
}

/// Names of the variables that are set and are passed into the container.
Arguments names_to_pass(ContainerCall const& call) {
    Arguments names;
    for (auto const& line : call.environment.to_list()) {
        auto const name = line.substr(0, line.find('='));
        bool const is_users = std::ranges::find(call.user_variables, name) != call.user_variables.end();
        if (is_passed_to_containers(name) || is_users) names.push_back(name);
    }
    return names;
}

/// The lines of the script for slurm.log_wandb and slurm.log_mlflow. They run inside the container, where
/// they replace variables of the image.
std::string extend_python(Environment const& environment) {
    std::string commands;
    if (environment.find_non_empty(variables::log_wandb))
        commands += "PYTHONPATH=\"/run/determined/host/lib/det-submit/python-wandb:$PYTHONPATH\"; ";
    if (environment.find_non_empty(variables::log_mlflow))
        commands += fmt::format("export MLFLOW_TRACKING_URI={} MLFLOW_DISABLE_TELEMETRY=true; ",
                                variables::mlflow_store);
    return commands;
}

Arguments command_inside(ContainerCall const& call) {
    auto const script =
        std::string(begin_inside) + extend_python(call.environment) + std::string(enter_inside);
    Arguments argv{"/bin/sh", "-c", script, "det"};
    add(argv, call.command);
    return argv;
}

/// The names of the placeholders of ContainerTemplate that stand for the parts of a mount.
constexpr string_view mount_places[] = {"{source}", "{target}", "{mode}"};

bool has_place(string_view item, string_view place) { return item.find(place) != string_view::npos; }

/// The mounts as pyxis takes them: "/a:/b:ro,/c:/c".
std::string joined(std::vector<ContainerMount> const& mounts) {
    Arguments texts;
    for (auto const& mount : mounts)
        texts.push_back(
            fmt::format("{}:{}{}", mount.host_path, mount.container_path, mount.read_only ? ":ro" : ""));
    return join(texts, ",");
}

/// Adds the words of the items of a template. Blanks separate words before values are put in: a value stays
/// within its word.
class TemplateWords {
public:
    TemplateWords(ContainerCall const& call, std::vector<ContainerMount> mounts)
        : call_(call), mounts_(std::move(mounts)) {}

    Arguments of(Arguments const& items) {
        for (auto const& item : items) {
            bool const is_for_mounts =
                std::ranges::any_of(mount_places, [&](auto const place) { return has_place(item, place); });
            if (item == "{gpu}") {
                if (call_.slot_type == SlotType::cuda) add_item_of_all(call_.container.custom->cuda_options);
                if (call_.slot_type == SlotType::rocm) add_item_of_all(call_.container.custom->rocm_options);
                if (call_.slot_type == SlotType::xpu) add_item_of_all(call_.container.custom->xpu_options);
            } else if (is_for_mounts) {
                for (auto const& mount : mounts_)
                    add_item(item, {{mount_places[0], mount.host_path},
                                    {mount_places[1], mount.container_path},
                                    {mount_places[2], mount.read_only ? "ro" : "rw"}});
            } else if (has_place(item, "{variable}")) {
                for (auto const& name : names_to_pass(call_)) add_item(item, {{"{variable}", name}});
            } else {
                add_item(item, {{"{image}", call_.container.image}, {"{mounts}", joined(mounts_)}});
            }
        }
        return std::move(words_);
    }

private:
    using Values = std::vector<std::pair<string_view, std::string>>;

    void add_item_of_all(Arguments const& items) {
        for (auto const& item : items) add_item(item, {});
    }
    void add_item(string_view item, Values const& values) {
        for (auto const word : split(item, ' ')) {
            if (word.empty()) continue;
            std::string text(word);
            for (auto const& [place, value] : values) text = replaced(std::move(text), place, value);
            words_.push_back(std::move(text));
        }
    }

    ContainerCall const& call_;
    std::vector<ContainerMount> mounts_;
    Arguments words_;
};

ContainerProcess render_custom(ContainerCall const& call) {
    auto argv = TemplateWords(call, all_mounts(call)).of(call.container.custom->command);
    add(argv, command_inside(call));
    return {argv, call.environment};
}

ContainerProcess render_podman(ContainerCall const& call) {
    auto const& container = call.container;
    Arguments argv{"podman", "run", "--rm", "--network=host", "--security-opt=label=disable"};
    // The containers of all ranks share the node's /dev/shm, unless the user sets a size for each container.
    argv.push_back(container.shm_size_bytes > 0 ? fmt::format("--shm-size={}b", container.shm_size_bytes)
                                                : "--volume=/dev/shm:/dev/shm:rw,rprivate");
    if (container.pulls_always) argv.push_back("--pull=always");
    if (call.has_credentials) {
        argv.push_back("--authfile=" + (call.run_dir / registry_folder / "auth.json").string());
    }
    for (auto const& mount : all_mounts(call)) {
        argv.push_back(fmt::format("--volume={}:{}:{},{}", mount.host_path, mount.container_path,
                                   mount.read_only ? "ro" : "rw", mount.propagation));
    }
    for (auto const& device : container.devices) {
        argv.push_back(
            fmt::format("--device={}:{}:{}", device.host_path, device.container_path, device.mode));
    }
    if (call.slot_type == SlotType::cuda) argv.push_back("--device=nvidia.com/gpu=all");
    if (call.slot_type == SlotType::rocm)
        add(argv, {"--device=/dev/kfd", "--device=/dev/dri", "--group-add=keep-groups"});
    if (call.slot_type == SlotType::xpu) add(argv, {"--device=/dev/dri", "--group-add=keep-groups"});
    for (auto const& name : container.add_capabilities) argv.push_back("--cap-add=" + name);
    for (auto const& name : container.drop_capabilities) argv.push_back("--cap-drop=" + name);
    for (auto const& name : names_to_pass(call)) argv.push_back("--env=" + name);
    argv.push_back(container.image);
    add(argv, command_inside(call));
    return {argv, call.environment};
}

ContainerProcess render_apptainer(ContainerCall const& call) {
    auto const& container = call.container;
    bool const is_singularity = container.runtime == ContainerRuntime::singularity;
    Arguments argv{is_singularity ? "singularity" : "apptainer", "exec", "--writable-tmpfs"};
    if (call.slot_type == SlotType::cuda) argv.push_back("--nv");
    if (call.slot_type == SlotType::rocm) argv.push_back("--rocm");
    if (container.pulls_always) argv.push_back("--disable-cache");
    for (auto const& mount : all_mounts(call)) {
        add(argv, {"--bind", fmt::format("{}:{}:{}", mount.host_path, mount.container_path,
                                         mount.read_only ? "ro" : "rw")});
    }
    if (!container.add_capabilities.empty()) add(argv, {"--add-caps", join(container.add_capabilities, ",")});
    if (!container.drop_capabilities.empty())
        add(argv, {"--drop-caps", join(container.drop_capabilities, ",")});
    argv.push_back(container.image);
    add(argv, command_inside(call));

    // Apptainer passes the host's variables, but without this prefix a variable of the image has precedence.
    auto environment = call.environment;
    auto const prefix = is_singularity ? "SINGULARITYENV_" : "APPTAINERENV_";
    for (auto const& name : call.user_variables) {
        if (auto const value = call.environment.find(name)) environment.set(prefix + name, *value);
    }
    if (call.has_credentials) environment.set("APPTAINER_CONFIGDIR", call.run_dir / registry_folder);
    return {argv, environment};
}

ContainerProcess render_enroot(ContainerCall const& call) {
    Arguments argv{"enroot", "start", "--rw"};
    for (auto const& mount : all_mounts(call)) {
        add(argv, {"--mount", fmt::format("{}:{}:none:x-create=auto,{}", mount.host_path,
                                          mount.container_path, mount.read_only ? "bind,ro" : "rbind,rw")});
    }
    auto environment = call.environment;
    if (call.slot_type == SlotType::cuda) environment.set("NVIDIA_VISIBLE_DEVICES", "all");
    auto with_environment = call;
    with_environment.environment = environment;
    for (auto const& name : names_to_pass(with_environment)) add(argv, {"--env", name});
    argv.push_back(call.container.image);
    add(argv, command_inside(call));
    return {argv, environment};
}

/// The mounts of a container that srun starts: DET_RUN_DIR and the programs have their own paths in it.
std::vector<ContainerMount> mounts_of_srun(ContainerCall const& call, fs::path const& local_directory) {
    std::vector<ContainerMount> mounts{{local_directory, local_directory},
                                       {call.programs, call.programs, true}};
    auto const libraries = call.programs.parent_path() / "lib" / "det-host";
    for (auto const& library : call.libraries)
        mounts.push_back({library, libraries / library.filename(), true});
    if (!call.python.empty()) mounts.push_back({call.python, call.python, true});
    add_directories(mounts, call);
    mounts.insert(mounts.end(), call.container.mounts.begin(), call.container.mounts.end());
    return mounts;
}

}  // namespace

std::string replaced(std::string text, std::string_view place, std::string_view value) {
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size()))
        text.replace(at, place.size(), value);
    return text;
}

ContainerProcess render_container(ContainerCall const& given) {
    auto call = given;
    call.environment.set("DET_RUN_DIR", run_dir_inside);
    switch (call.container.runtime) {
        case ContainerRuntime::podman:
            return render_podman(call);
        case ContainerRuntime::apptainer:
        case ContainerRuntime::singularity:
            return render_apptainer(call);
        case ContainerRuntime::enroot:
            return render_enroot(call);
        case ContainerRuntime::custom:
            if (!call.container.is_started_by_srun()) return render_custom(call);
            break;
        case ContainerRuntime::pyxis:
        case ContainerRuntime::none:
            break;
    }
    // With pyxis the command runs in the container already; without a runtime there is no container.
    return {call.command, given.environment};
}

std::vector<std::string> render_pyxis_options(ContainerCall const& call, fs::path const& local_directory) {
    Arguments options{"--container-image=" + call.container.image,
                      "--container-mounts=" + joined(mounts_of_srun(call, local_directory))};
    if (!call.user_variables.empty()) {
        options.push_back("--container-env=" + join(call.user_variables, ","));
    }
    return options;
}

std::vector<std::string> render_template_options(ContainerCall const& call, fs::path const& local_directory) {
    auto mounts = call.container.is_started_by_srun() ? mounts_of_srun(call, local_directory)
                                                      : std::vector<ContainerMount>();
    return TemplateWords(call, std::move(mounts)).of(call.container.custom->srun_args);
}

}  // namespace det::launch::node
