// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "abi.h"

// libslurm exports these functions, but its headers do not declare them.
extern "C" {
char const* slurm_job_state_string(uint32_t state);
char const* slurm_job_reason_string(enum job_state_reason reason);
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

/// The name of the configuration type differs between Slurm releases.
template <class Message>
Message freed_by(void (*release)(Message*));
using Config = Owned<decltype(freed_by(slurm_free_ctl_conf)), slurm_free_ctl_conf>;

/// The message of the last failed libslurm call.
inline char const* why() { return slurm_strerror(slurm_get_errno()); }

using Request = det_libslurm_request;
using Sink = det_libslurm_sink;

// Each function queries slurmctld and passes the results to `sink`. Returns NULL, or Slurm's error message.
// Not thread-safe.
char const* read_jobs(Request const& request, Sink const& sink);
char const* read_partitions(Sink const& sink);
char const* read_nodes(Sink const& sink);
char const* read_config(Sink const& sink);

}  // namespace det::libslurm
