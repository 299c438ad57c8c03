// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cerrno>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <type_traits>

#include "abi.h"

// libslurm exports these functions, but its headers do not declare them.
extern "C" {
char const* slurm_job_state_string(uint32_t state);
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
char const* slurm_job_state_reason_string(enum job_state_reason reason);
#else
char const* slurm_job_reason_string(enum job_state_reason reason);
#endif
char const* slurm_node_state_string(uint32_t state);
char* slurm_node_state_string_complete(uint32_t state);
char const* slurm_preempt_mode_string(uint16_t mode);
}

namespace det::libslurm {

/// Owns a message of slurmctld and frees it with Slurm's function.
template <class Message, void (*release)(Message*)>
class Owned {
public:
    Owned() = default;
    Owned(Owned const&) = delete;
    Owned& operator=(Owned const&) = delete;
    ~Owned() {
        if (message_ != nullptr) release(message_);
    }
    Message** out() { return &message_; }
    Message* get() const { return message_; }
    Message* operator->() const { return message_; }

private:
    Message* message_ = nullptr;
};

using Jobs = Owned<job_info_msg_t, slurm_free_job_info_msg>;
using Nodes = Owned<node_info_msg_t, slurm_free_node_info_msg>;
using Partitions = Owned<partition_info_msg_t, slurm_free_partition_info_msg>;

// What differs between Slurm releases, from 22.05 to 26.05:

/// The type of the configuration: that which slurm_load_ctl_conf() makes.
template <class Message>
Message loaded_by(int (*load)(time_t, Message**));
using ConfigMessage = decltype(loaded_by(slurm_load_ctl_conf));

template <class Message>
void free_config(Message* message) {
    if constexpr (requires { slurm_free_ctl_conf(message); }) {
        slurm_free_ctl_conf(message);
    } else {
        slurm_free_conf(message);
    }
}
using Config = Owned<ConfigMessage, free_config<ConfigMessage>>;

/// Loads one job. Newer releases name it by a structure.
template <class Load>
int load_job(Load load, job_info_msg_t** jobs, uint32_t job, uint16_t flags) {
    if constexpr (std::is_invocable_v<Load, job_info_msg_t**, uint32_t, uint16_t>) {
        return load(jobs, job, flags);
    } else {
        auto const load_by_step = static_cast<int (*)(job_info_msg_t**, slurm_step_id_t, uint16_t)>(load);
        slurm_step_id_t id{};
        id.job_id = job;
        id.step_id = NO_VAL;
        id.step_het_comp = NO_VAL;
        return load_by_step(jobs, id, flags);
    }
}

inline char const* reason_text(job_state_reason reason) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0)
    return slurm_job_state_reason_string(reason);
#else
    return slurm_job_reason_string(reason);
#endif
}

inline uint32_t used_cpus(node_info_t const& node) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    return node.alloc_cpus;
#else
    uint16_t used = 0;
    slurm_get_select_nodeinfo(node.select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &used);
    return used;
#endif
}

/// The message of the last failed libslurm call: libslurm sets errno.
inline char const* why() { return slurm_strerror(errno); }

using Request = det_libslurm_request;
using Sink = det_libslurm_sink;

// Each function queries slurmctld and passes the results to `sink`. Returns NULL, or Slurm's error message.
// Not thread-safe.
char const* read_jobs(Request const& request, Sink const& sink);
char const* read_partitions(Sink const& sink);
char const* read_nodes(Sink const& sink);
char const* read_config(Sink const& sink);

}  // namespace det::libslurm
