// A fake det_libslurm.so. The environment variable FAKE_LIBSLURM selects how it fails.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include "../../runtime/slurm/libslurm/abi.h"

namespace {

bool behaves_as(std::string_view what) {
    auto const* const behaviour = std::getenv("FAKE_LIBSLURM");
    return behaviour != nullptr && what == behaviour;
}

char const* load_error() { return behaves_as("mismatch") ? "it was built for libslurm.so.1" : nullptr; }

void send_jobs(det_libslurm_request const& request, det_libslurm_sink const& sink) {
    det_libslurm_job job{};
    job.job = request.job_count == 1 ? request.jobs[0] : 7;
    job.task = DET_LIBSLURM_NO_TASK;
    job.state = "PENDING";
    job.user = request.user;
    job.name = "new\nline";
    job.nice = -3;
    job.submit_time = 1'795'262'400;
    sink.job(sink.context, &job);
    job.task = 4;
    job.state = "RUNNING";
    sink.job(sink.context, &job);
}

char const* read(det_libslurm_request const* request, det_libslurm_sink const* sink) {
    std::fputs("noise on stdout\n", stdout);
    if (behaves_as("hang")) ::pause();
    if (behaves_as("crash")) std::raise(SIGSEGV);
    if (behaves_as("refuse")) return "Access/permission denied";
    if (behaves_as("be silent")) return "Unable to contact slurm controller (connect failure)";
    send_jobs(*request, *sink);
    if (behaves_as("end")) {
        std::fputs("fatal: no configuration for you\n", stderr);
        std::exit(1);
    }
    return nullptr;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) det_libslurm_module const* det_libslurm_module_entry(void);
}

det_libslurm_module const* det_libslurm_module_entry(void) {
    static det_libslurm_module module{DET_LIBSLURM_ABI_VERSION, load_error, read};
    if (behaves_as("be old")) module.abi_version = 0;
    return &module;
}
