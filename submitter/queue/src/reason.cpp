#include <det/queue/reason.hpp>

namespace det::queue {
namespace {

struct Reason {
    std::string_view name;
    std::string_view words;
};

constexpr Reason reasons[] = {
    {"None", ""},
    {"Priority", "other jobs come first"},
    {"Resources", "next in turn, waits for nodes to become free"},
    {"JobHeldUser", "held by its owner"},
    {"JobHeldAdmin", "held by an administrator"},
    {"JobHoldMaxRequeue", "held: it was requeued too often"},
    {"Dependency", "waits for the jobs that it depends on"},
    {"DependencyNeverSatisfied", "a job that it depends on ended in another way: it will never start"},
    {"BeginTime", "its time to begin has not come"},
    {"JobArrayTaskLimit", "as many tasks of its array run as may at once"},
    {"Licenses", "waits for a licence"},
    {"Reservation", "waits for its reservation"},
    {"ReservationDeleted", "its reservation was deleted"},
    {"ReqNodeNotAvail", "nodes that it asks for are down, drained or reserved"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition takes no jobs now"},
    {"PartitionNodeLimit", "it asks for more nodes than its partition gives a job"},
    {"PartitionTimeLimit", "it asks for more time than its partition gives a job"},
    {"PartitionConfig", "it asks for what its partition does not have"},
    {"AccountNotAllowed", "its account may not use its partition"},
    {"QOSNotAllowed", "its QOS may not be used in its partition"},
    {"NodeDown", "a node that it needs is down"},
    {"BadConstraints", "no node has what it asks for"},
    {"Cleaning", "its run before is still being cleaned up"},
    {"Prolog", "its nodes are being prepared"},
    {"SchedDefer", "Slurm looks at it at its next round"},
    {"SystemFailure", "Slurm had an error: ask the administrators"},
    {"JobLaunchFailure", "its start failed: ask the administrators"},
    {"InvalidAccount", "its account does not exist"},
    {"InvalidQOS", "its QOS does not exist"},
    {"FrontEndDown", "no front end is up"},
    {"BurstBufferResources", "waits for room in the burst buffer"},
    {"BurstBufferStageIn", "its files are being copied to the burst buffer"},
    {"DeadLine", "it can't end before its deadline"},
    {"AssocGrpCpuLimit", "its account has as many CPUs as it may"},
    {"AssocGrpGRES", "its account has as many GPUs as it may"},
    {"AssocGrpJobsLimit", "its account runs as many jobs as it may"},
    {"AssocGrpNodeLimit", "its account has as many nodes as it may"},
    {"AssocGrpMemLimit", "its account has as much memory as it may"},
    {"AssocGrpCPUMinutesLimit", "its account has used up its CPU time"},
    {"AssocGrpCPURunMinutesLimit", "running jobs of its account have as much CPU time ahead as they may"},
    {"AssocGrpGRESMinutes", "its account has used up its GPU time"},
    {"AssocGrpWallLimit", "its account has used up its time"},
    {"AssocMaxJobsLimit", "its user runs as many jobs as allowed"},
    {"AssocMaxCpuPerJobLimit", "it asks for more CPUs than a job of its account may have"},
    {"AssocMaxGRESPerJob", "it asks for more GPUs than a job of its account may have"},
    {"AssocMaxNodePerJobLimit", "it asks for more nodes than a job of its account may have"},
    {"AssocMaxWallDurationPerJobLimit", "it asks for more time than a job of its account may have"},
    {"QOSGrpCpuLimit", "its QOS has as many CPUs as it may"},
    {"QOSGrpGRES", "its QOS has as many GPUs as it may"},
    {"QOSGrpJobsLimit", "its QOS runs as many jobs as it may"},
    {"QOSGrpNodeLimit", "its QOS has as many nodes as it may"},
    {"QOSGrpMemLimit", "its QOS has as much memory as it may"},
    {"QOSMaxJobsPerUserLimit", "its user runs as many jobs as its QOS allows"},
    {"QOSMaxCpuPerUserLimit", "its user has as many CPUs as its QOS allows"},
    {"QOSMaxGRESPerUser", "its user has as many GPUs as its QOS allows"},
    {"QOSMaxNodePerUserLimit", "its user has as many nodes as its QOS allows"},
    {"QOSMaxCpuPerJobLimit", "it asks for more CPUs than its QOS gives a job"},
    {"QOSMaxGRESPerJob", "it asks for more GPUs than its QOS gives a job"},
    {"QOSMaxNodePerJobLimit", "it asks for more nodes than its QOS gives a job"},
    {"QOSMaxWallDurationPerJobLimit", "it asks for more time than its QOS gives a job"},
    {"QOSMinGRES", "it asks for fewer GPUs than its QOS wants"},
    {"QOSUsageThreshold", "its QOS wants a better fair share than it has"},
    {"MaxRequeue", "held: it was requeued too often"},
};

}  // namespace

std::string explain_reason(std::string_view reason) {
    for (auto const& known : reasons) {
        if (known.name == reason) return std::string(known.words);
    }
    return std::string(reason);
}

}  // namespace det::queue
