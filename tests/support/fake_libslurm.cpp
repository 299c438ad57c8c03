// A det_libslurm.so that behaves as FAKE_LIBSLURM says: the ways in which the real one may go wrong.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include "../../runtime/slurm/libslurm/abi.h"

namespace {

bool is_to(std::string_view what) {
    auto const* const behaviour = std::getenv("FAKE_LIBSLURM");
    return behaviour != nullptr && what == behaviour;
}

char const* why_not() { return is_to("mismatch") ? "it was built for libslurm.so.1" : nullptr; }

void hand_out_jobs(det_libslurm_request const& request, det_libslurm_sink const& sink) {
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
    if (is_to("hang")) ::pause();
    if (is_to("crash")) std::raise(SIGSEGV);
    if (is_to("refuse")) return "Access/permission denied";
    if (is_to("be silent")) return "Unable to contact slurm controller (connect failure)";
    hand_out_jobs(*request, *sink);
    if (is_to("end")) {
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
    static det_libslurm_module module{DET_LIBSLURM_ABI_VERSION, why_not, read};
    if (is_to("be old")) module.abi_version = 0;
    return &module;
}
