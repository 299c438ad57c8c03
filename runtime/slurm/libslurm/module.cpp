// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
//
// The entry point of det_libslurm.so, which det-submit loads. It has a C interface and throws no exceptions.
#include <exception>
#include <string>

#include "libslurm_compat.hpp"

namespace {

using namespace det::libslurm;

/// The number in the name libslurm.so.38. It differs between Slurm releases, because their structures differ.
long release_here() { return SLURM_VERSION_MAJOR(slurm_api_version()); }

char const* why_not() {
    static std::string const reason = release_here() == DET_LIBSLURM_RELEASE
                                          ? std::string()
                                          : "it was built for libslurm.so." +
                                                std::to_string(DET_LIBSLURM_RELEASE) +
                                                ", and found libslurm.so." + std::to_string(release_here());
    return reason.empty() ? nullptr : reason.c_str();
}

char const* answer(Request const& request, Sink const& sink) {
    slurm_init(nullptr);
    switch (request.reading) {
        case DET_LIBSLURM_JOBS:
            return read_jobs(request, sink);
        case DET_LIBSLURM_PARTITIONS:
            return read_partitions(sink);
        case DET_LIBSLURM_NODES:
            return read_nodes(sink);
        case DET_LIBSLURM_CONFIG:
            return read_config(sink);
    }
    return "the module does not know this reading";
}

char const* read(Request const* request, Sink const* sink) {
    try {
        return answer(*request, *sink);
    } catch (std::exception const&) {
        return "out of memory";
    }
}

constexpr det_libslurm_module module{DET_LIBSLURM_ABI_VERSION, why_not, read};

}  // namespace

extern "C" {
__attribute__((visibility("default"))) det_libslurm_module const* det_libslurm_module_entry(void);
}

det_libslurm_module const* det_libslurm_module_entry(void) { return &module; }
