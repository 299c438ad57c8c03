#include <det/queue/explain_reason.hpp>

namespace det::queue {
namespace {

struct Reason {
    std::string_view name;
    std::string_view explanation;
};

constexpr Reason reasons[] = {
    {"None", ""},
    {"Priority", "other jobs come first"},
    {"Resources", "next in turn, waits for nodes to become free"},
    {"JobHeldUser", "held by its owner"},
    {"JobHeldAdmin", "held by an administrator"},
    {"JobHoldMaxRequeue", "held: it was requeued too often"},
    {"Dependency", "waits for the jobs that it depends on"},
    {"DependencyNeverSatisfied", "a job that it depends on ended with another result: it will never start"},
    {"BeginTime", "its begin time has not been reached"},
    {"JobArrayTaskLimit", "its array runs as many tasks as allowed at the same time"},
    {"Licenses", "waits for a licence"},
    {"Reservation", "waits for its reservation"},
    {"ReservationDeleted", "its reservation was deleted"},
    {"ReqNodeNotAvail", "nodes that it requests are down, drained or reserved"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition accepts no jobs now"},
    {"PartitionNodeLimit", "it requests more nodes than its partition allows for a job"},
    {"PartitionTimeLimit", "it requests more time than its partition allows for a job"},
    {"PartitionConfig", "it requests what its partition does not have"},
    {"AccountNotAllowed", "its account may not use its partition"},
    {"QOSNotAllowed", "its QOS may not be used in its partition"},
    {"NodeDown", "a node that it needs is down"},
    {"BadConstraints", "no node has what it requests"},
    {"Cleaning", "its previous run is still being cleaned up"},
    {"Prolog", "its nodes are being prepared"},
    {"SchedDefer", "Slurm considers it in its next scheduling cycle"},
    {"SystemFailure", "Slurm had an error: ask the administrators"},
    {"JobLaunchFailure", "its start failed: ask the administrators"},
    {"InvalidAccount", "its account does not exist"},
    {"InvalidQOS", "its QOS does not exist"},
    {"FrontEndDown", "no front end is up"},
    {"BurstBufferResources", "waits for space in the burst buffer"},
    {"BurstBufferStageIn", "its files are being copied to the burst buffer"},
    {"DeadLine", "it cannot end before its deadline"},
    {"AssocGrpCpuLimit", "its account uses all CPUs that its limit allows"},
    {"AssocGrpGRES", "its account uses all GPUs that its limit allows"},
    {"AssocGrpJobsLimit", "its account runs all jobs that its limit allows"},
    {"AssocGrpNodeLimit", "its account uses all nodes that its limit allows"},
    {"AssocGrpMemLimit", "its account uses all memory that its limit allows"},
    {"AssocGrpCPUMinutesLimit", "its account has used up its CPU time"},
    {"AssocGrpCPURunMinutesLimit",
     "running jobs of its account have reserved all CPU time that its limit allows"},
    {"AssocGrpGRESMinutes", "its account has used up its GPU time"},
    {"AssocGrpWallLimit", "its account has used up its time"},
    {"AssocMaxJobsLimit", "its user runs as many jobs as allowed"},
    {"AssocMaxCpuPerJobLimit", "it requests more CPUs than a job of its account may have"},
    {"AssocMaxGRESPerJob", "it requests more GPUs than a job of its account may have"},
    {"AssocMaxNodePerJobLimit", "it requests more nodes than a job of its account may have"},
    {"AssocMaxWallDurationPerJobLimit", "it requests more time than a job of its account may have"},
    {"QOSGrpCpuLimit", "its QOS uses all CPUs that its limit allows"},
    {"QOSGrpGRES", "its QOS uses all GPUs that its limit allows"},
    {"QOSGrpJobsLimit", "its QOS runs all jobs that its limit allows"},
    {"QOSGrpNodeLimit", "its QOS uses all nodes that its limit allows"},
    {"QOSGrpMemLimit", "its QOS uses all memory that its limit allows"},
    {"QOSMaxJobsPerUserLimit", "its user runs as many jobs as its QOS allows"},
    {"QOSMaxCpuPerUserLimit", "its user uses as many CPUs as its QOS allows"},
    {"QOSMaxGRESPerUser", "its user uses as many GPUs as its QOS allows"},
    {"QOSMaxNodePerUserLimit", "its user uses as many nodes as its QOS allows"},
    {"QOSMaxCpuPerJobLimit", "it requests more CPUs than its QOS allows for a job"},
    {"QOSMaxGRESPerJob", "it requests more GPUs than its QOS allows for a job"},
    {"QOSMaxNodePerJobLimit", "it requests more nodes than its QOS allows for a job"},
    {"QOSMaxWallDurationPerJobLimit", "it requests more time than its QOS allows for a job"},
    {"QOSMinGRES", "it requests fewer GPUs than its QOS requires"},
    {"QOSUsageThreshold", "its QOS requires a higher fair share than it has"},
    {"MaxRequeue", "held: it was requeued too often"},
};

}  // namespace

std::string explain_reason(std::string_view reason) {
    for (auto const& known : reasons) {
        if (known.name == reason) return std::string(known.explanation);
    }
    return std::string(reason);
}

}  // namespace det::queue
