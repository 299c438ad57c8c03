// The command lines of container runtimes, as golden files with one argument a line.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/container_call.hpp>
#include <det/launch/node/container_variables.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::node;

namespace containers_test {

ContainerCall call_of(ContainerRuntime runtime, std::string const& image) {
    ContainerCall call;
    call.container.runtime = runtime;
    call.container.image = format_image_name(runtime, image);
    call.container.mounts = {{"/data/set", "/data", true, "rprivate"},
                             {"/scratch/x", "/run/determined/workdir/x"}};
    call.container.devices = {{"/dev/fuse", "/dev/fuse", "mrw"}};
    call.container.shm_size_bytes = 4096;
    call.container.pulls_always = true;
    call.container.add_capabilities = {"SYS_PTRACE"};
    call.slot_type = SlotType::cuda;
    call.run_dir = "/tmp/det-7/run";
    call.directories = {"/shared/det"};
    call.read_only_directories = {"/tmp/det-7/stage"};
    call.programs = "/opt/det/bin";
    call.libraries = {"/lib/x86_64-linux-gnu/libfmt.so.9"};
    call.python = "/opt/det/lib/det-submit";
    call.has_credentials = true;
    call.user_variables = {"LR", "ABSENT"};
    call.command = {"sh", "-c", "python3 train.py"};
    call.environment = Environment({{"DET_RUN_DIR", "/tmp/det-7/run"},
                                    {"DET_TRIAL_ID", "7"},
                                    {"HOME", "/home/me"},
                                    {"LR", "a secret value"},
                                    {"PATH", "/usr/bin"},
                                    {"RANK", "3"},
                                    {"SLURM_JOB_ID", "12"}});
    return call;
}

ContainerSpec spec_of(ContainerRuntime runtime, std::string image) {
    ContainerSpec container;
    container.runtime = runtime;
    container.image = std::move(image);
    return container;
}

std::string words(std::vector<std::string> const& argv) { return join(argv, "\n") + "\n"; }

}  // namespace containers_test

BOOST_AUTO_TEST_SUITE(containers_test)

BOOST_AUTO_TEST_CASE(each_runtime_gets_all_options_that_it_supports) {
    auto const podman = render_container(call_of(ContainerRuntime::podman, "ubuntu:22.04"));
    check_golden("launch/podman.txt", words(podman.argv));
    check_golden("launch/apptainer.txt",
                 words(render_container(call_of(ContainerRuntime::apptainer, "ubuntu:22.04")).argv));
    check_golden("launch/enroot.txt",
                 words(render_container(call_of(ContainerRuntime::enroot, "nvcr.io/x/pytorch:24.01")).argv));
    check_golden("launch/pyxis.txt",
                 words(render_pyxis_options(call_of(ContainerRuntime::pyxis, "ubuntu"), "/tmp")));
}

BOOST_AUTO_TEST_CASE(a_template_of_the_site_starts_a_runtime_that_is_not_known) {
    auto call = call_of(ContainerRuntime::custom, "ubuntu:22.04");
    call.container.custom = {
        "hpc",
        {"hpc run --rm", "{gpu}", "--bind {source}:{target}:{mode}", "--env={variable}", "--image={image}"},
        {"--hpc-image={image}"},
        {"--gpu --mpi"},
        {"--device=/dev/kfd"},
        {"--device=/dev/dri"},
        {"hpc pull docker://{image} {file}"}};
    call.container.mounts[0].host_path = "/data/with blank";
    check_golden("launch/template.txt", words(render_container(call).argv));
    BOOST_TEST(words(render_template_options(call, "/tmp")) == "--hpc-image=ubuntu:22.04\n");
    BOOST_TEST(words(render_import(call.container, "/images/x y")) ==
               "hpc\npull\ndocker://ubuntu:22.04\n/images/x y\n");
    auto amd = call;
    amd.slot_type = SlotType::rocm;  // what the node has
    auto const amd_words = render_container(amd).argv;
    BOOST_TEST((std::ranges::find(amd_words, "--device=/dev/kfd") != amd_words.end()));
    BOOST_TEST((std::ranges::find(amd_words, "--gpu") == amd_words.end()));
    amd.slot_type = SlotType::xpu;
    auto const intel_words = render_container(amd).argv;
    BOOST_TEST((std::ranges::find(intel_words, "--device=/dev/dri") != intel_words.end()));
    BOOST_TEST((std::ranges::find(intel_words, "--device=/dev/kfd") == intel_words.end()));
    // Without a command srun starts the container, with the mounts of pyxis.
    BOOST_TEST(image_file_name(call.container, "ubuntu:22.04").ends_with(".image"));
    call.container.custom->command.clear();
    BOOST_TEST(image_file_name(call.container, "ubuntu:22.04") == "");
    call.container.custom->srun_args = {"--environment={image}", "--mounts={mounts}"};
    BOOST_TEST(render_container(call).argv == call.command);
    auto const options = words(render_template_options(call, "/tmp"));
    BOOST_TEST(
        options.starts_with("--environment=ubuntu:22.04\n--mounts=/tmp:/tmp,/opt/det/bin:/opt/det/bin:ro,"),
        options);
}

BOOST_AUTO_TEST_CASE(an_imported_image_is_named_by_its_digest_or_by_a_hash_of_its_name) {
    auto const apptainer = spec_of(ContainerRuntime::apptainer, "docker://ubuntu:22.04");
    std::string const digest(64, 'a');
    BOOST_TEST(image_file_name(apptainer, "ubuntu@sha256:" + digest) == digest + ".sif");
    auto const by_name = image_file_name(apptainer, "ubuntu:22.04");
    BOOST_TEST(by_name.size() == 64 + 4u);
    BOOST_TEST(image_file_name(apptainer, "ubuntu:24.04") != by_name);
    BOOST_TEST(image_file_name(apptainer, "ubuntu@sha256:../../x") != "../../x.sif");
    BOOST_TEST(image_file_name(apptainer, "/images/a.sif") == "");
    BOOST_TEST(words(render_import(apptainer, "/i/x.sif")) ==
               "apptainer\npull\n--force\n/i/x.sif\ndocker://ubuntu:22.04\n");
    auto enroot = spec_of(ContainerRuntime::enroot, "nvcr.io/nvidia/pytorch:24.01-py3");
    BOOST_TEST(image_file_name(enroot, enroot.image).ends_with(".sqsh"));
    BOOST_TEST(words(render_import(enroot, "/i/x.sqsh")) ==
               "enroot\nimport\n--output\n/i/x.sqsh\ndocker://nvcr.io#nvidia/pytorch:24.01-py3\n");
    enroot.image = "library/ubuntu";
    BOOST_TEST(render_import(enroot, "/i/x").back() == "docker://library/ubuntu");
    BOOST_TEST(image_file_name(spec_of(ContainerRuntime::podman, "x"), "x") == "");
}

BOOST_AUTO_TEST_CASE(variables_of_libraries_and_proxies_are_passed_into_containers) {
    for (auto const* name : {"FI_PROVIDER", "CXI_FORK_SAFE", "MPICH_GPU_SUPPORT_ENABLED", "CUDA_CACHE_PATH",
                             "PYTORCH_CUDA_ALLOC_CONF", "TORCH_HOME", "HSA_XNACK", "ROCR_VISIBLE_DEVICES",
                             "MIOPEN_USER_DB_PATH", "HF_HOME", "https_proxy", "NO_PROXY", "ZE_AFFINITY_MASK"})
        BOOST_TEST(is_passed_to_containers(name), name);
    for (auto const* name : {"HOME", "PATH", "LD_LIBRARY_PATH", "SSH_AUTH_SOCK", "PROXY"})
        BOOST_TEST(!is_passed_to_containers(name), name);
}

BOOST_AUTO_TEST_CASE(no_value_of_a_variable_is_in_a_command_line) {
    for (auto const runtime : {ContainerRuntime::podman, ContainerRuntime::apptainer,
                               ContainerRuntime::singularity, ContainerRuntime::enroot}) {
        auto const process = render_container(call_of(runtime, "x"));
        BOOST_TEST(words(process.argv).find("a secret value") == std::string::npos);
        BOOST_TEST(process.environment.find("DET_RUN_DIR").value() == "/run/determined");
    }
}

BOOST_AUTO_TEST_CASE(the_module_wandb_and_the_store_of_mlflow_are_there_in_a_container) {
    auto call = call_of(ContainerRuntime::podman, "x");
    call.environment.set("DET_LOG_WANDB", "1");
    call.environment.set("DET_LOG_MLFLOW", "1");
    auto const script = words(render_container(call).argv);
    BOOST_TEST(script.find("PYTHONPATH=\"/run/determined/host/lib/det-submit/python-wandb:$PYTHONPATH\"; ") !=
               std::string::npos);
    BOOST_TEST(script.find("export MLFLOW_TRACKING_URI=det-submit://trial MLFLOW_DISABLE_TELEMETRY=true; ") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(with_apptainer_the_users_variables_override_the_images) {
    auto const process = render_container(call_of(ContainerRuntime::apptainer, "x"));
    BOOST_TEST(process.environment.find("APPTAINERENV_LR").value() == "a secret value");
    BOOST_TEST(process.environment.find("APPTAINER_CONFIGDIR").value() == "/tmp/det-7/run/registry");
    auto const other = render_container(call_of(ContainerRuntime::singularity, "x"));
    BOOST_TEST(other.environment.find("SINGULARITYENV_LR").value() == "a secret value");
    BOOST_TEST(other.argv[0] == "singularity");
}

BOOST_AUTO_TEST_CASE(image_names_have_the_form_of_their_runtime) {
    struct Case {
        ContainerRuntime runtime;
        std::string image, resolved;
    };
    std::vector<Case> const cases{
        {ContainerRuntime::apptainer, "/images/a.sif", "/images/a.sif"},
        {ContainerRuntime::apptainer, "ubuntu:22.04", "docker://ubuntu:22.04"},
        {ContainerRuntime::apptainer, "oras://r/x", "oras://r/x"},
        {ContainerRuntime::singularity, "library://x", "library://x"},
        {ContainerRuntime::podman, "ubuntu:22.04", "ubuntu:22.04"},
        {ContainerRuntime::podman, "docker-archive:/x.tar", "docker-archive:/x.tar"},
        {ContainerRuntime::enroot, "determinedai/env:cuda-1", "determinedai+env+cuda-1"},
        {ContainerRuntime::pyxis, "nvcr.io#x:1", "nvcr.io#x:1"},
    };
    for (auto const& [runtime, image, resolved] : cases)
        BOOST_TEST(format_image_name(runtime, image) == resolved);
}

BOOST_AUTO_TEST_CASE(credentials_are_a_file_in_the_runtimes_form) {
    auto const auth = parse_json(R"({"username": "me", "password": "a:b"})");
    auto const podman = render_credentials(ContainerRuntime::podman, auth).value();
    BOOST_TEST(podman.name == "auth.json");
    BOOST_TEST(podman.text == "{\"auths\":{\"docker.io\":{\"auth\":\"bWU6YTpi\"}}}\n");
    auto const token = parse_json(R"({"identitytoken": "t", "serveraddress": "r.example"})");
    auto const apptainer = render_credentials(ContainerRuntime::apptainer, token).value();
    BOOST_TEST(apptainer.name == "docker-config.json");
    BOOST_TEST(apptainer.text == "{\"auths\":{\"r.example\":{\"identitytoken\":\"t\"}}}\n");
    BOOST_TEST(!render_credentials(ContainerRuntime::enroot, auth).has_value());
}

BOOST_AUTO_TEST_CASE(scontrol_inside_a_container_requeues_its_own_job_and_nothing_else) {
    TemporaryDirectory directory;
    must(write_scontrol_shim(directory.path()));
    auto const scontrol = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), directory / "commands/scontrol");
        return must(SystemProcessRunner().run({arguments, Environment({{"SLURM_JOB_ID", "125"},
                                                                       {"SLURM_ARRAY_JOB_ID", "123"},
                                                                       {"SLURM_ARRAY_TASK_ID", "2"},
                                                                       {"DET_RUN_PATH", directory.path()},
                                                                       {"PATH", "/usr/bin:/bin"}})}));
    };
    auto const request = RunLayout(directory.path()).requeue_request();
    for (auto const& arguments : std::vector<std::vector<std::string>>{{},
                                                                       {"show", "job"},
                                                                       {"requeue"},
                                                                       {"requeue", "124"},
                                                                       {"requeue", "123"},
                                                                       {"requeue", "125", "126"}}) {
        BOOST_TEST(scontrol(arguments).exit_code == 1);
        BOOST_TEST(!path_exists(request));
    }
    BOOST_TEST(scontrol({"requeue", "124"}).err == "scontrol: 124 is not the job of this program\n");
    for (auto const* own : {"125", "123_2"}) {
        BOOST_TEST(scontrol({"requeue", own}).exit_code == 0);
        BOOST_TEST(path_exists(request));
        must(remove_tree(request));
    }
}

BOOST_AUTO_TEST_CASE(containers_get_all_variables_that_launchers_set) {
    using namespace det::launch::node;
    for (auto const* name :
         {"RANK", "GROUP_RANK", "MASTER_PORT", "HOROVOD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "TF_CONFIG",
          "CUDA_VISIBLE_DEVICES", "DET_CHIEF_IP"}) {
        BOOST_TEST(is_set_by_launchers(name), name);
        BOOST_TEST(is_passed_to_containers(name), name);
    }
    for (auto const* name : {"DET_RUN_DIR", "SLURM_JOB_ID", "OMPI_MCA_pml", "PMI_RANK", "NCCL_DEBUG"}) {
        BOOST_TEST(!is_set_by_launchers(name), name);
        BOOST_TEST(is_passed_to_containers(name), name);
    }
    for (auto const* name : {"PATH", "HOME", "RANKS", "TF_CONFIG_FILE"})
        BOOST_TEST(!is_passed_to_containers(name), name);
}

BOOST_AUTO_TEST_SUITE_END()
