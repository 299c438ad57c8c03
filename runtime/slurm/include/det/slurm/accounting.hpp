#pragma once
#include <det/slurm/job.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::slurm {

/// Amounts of trackable resources by Slurm's names: "gres/gpu", "gres/gpu:a100", "node", "cpu".
using TresCounts = std::map<std::string, std::int64_t, std::less<>>;

/// The limits of an association or a QOS. An absent limit is not set there.
struct AccountingLimits {
    TresCounts group;                             // of all jobs together: GrpTRES
    TresCounts per_job;                           // MaxTRES
    TresCounts per_node;                          // MaxTRESPerNode
    TresCounts per_user = {};                     // of a QOS
    TresCounts per_account = {};                  // of a QOS
    std::optional<std::int64_t> jobs_max = {};    // that run at once, of a user
    std::optional<std::int64_t> submit_max = {};  // that wait or run, of a user
    std::string wall_max = {};                    // of a job: "2-00:00:00"; empty: not set
};

/// A row of Slurm's association tree: of a user in an account, or of an account.
struct Association {
    std::string account;
    std::string user;       // empty: of the account itself
    std::string partition;  // empty: any
    std::string parent;     // the account above; empty for users and for root
    std::vector<std::string> qos;
    std::string default_qos;
    AccountingLimits limits;
};

struct Qos {
    std::string name;
    AccountingLimits limits;
    std::int64_t priority = 0;
    std::string grace_time = {};             // between the notice of a preemption and the end: "00:02:00"
    std::string preempt_mode = {};           // REQUEUE, CANCEL ..., or "cluster": slurm.conf's PreemptMode
    std::vector<std::string> preempts = {};  // names of the QOSs whose jobs this one may preempt
    std::vector<std::string> flags = {};     // PartitionTimeLimit, OverPartQOS ...

    bool has_flag(std::string_view name) const;
};

/// What priority/multifactor gives the jobs of a user in an account, from 0 to 1: the more, the less the
/// account and the user have used of their shares.
struct FairShare {
    std::string account;
    double factor = 0;
};

/// What the accounting database says about a user.
struct Accounting {
    std::vector<Association> associations;  // of the user and of accounts
    std::vector<Qos> qos;
    std::string default_account;  // of the user; empty: none

    /// The association of a job; the one of the partition if there is one. nullptr: the user may not use the
    /// account there.
    Association const* find(std::string_view user, std::string_view account,
                            std::string_view partition) const;
    /// The accounts above an association, the nearest one first.
    std::vector<Association const*> ancestors(Association const& association) const;
    Qos const* find_qos(std::string_view name) const;
};

/// One execution of a job, as Slurm accounts it: a job that was requeued has several.
struct JobExecution {
    JobRef job;
    std::optional<UtcTime> started;  // nullopt: it was requeued before the database learnt of its start
    std::optional<UtcTime> ended;    // nullopt: it runs, or the database has not learnt of its end
    std::uint32_t nodes = 0;
};

/// The columns that parse_accounting() reads, as arguments of `sacctmgr --noheader --parsable2 show`.
std::string association_format();
std::string qos_format();

/// Parses the output of sacctmgr in these formats, and "user|default account". Lines with too few fields are
/// ignored. Pure.
Accounting parse_accounting(std::string_view associations, std::string_view qos, std::string_view user);

/// Parses `sshare --noheader --parsable2 --format=Account,User,FairShare`. The rows of accounts, which have
/// no user, and rows without a factor are left out. Pure.
std::vector<FairShare> parse_fair_shares(std::string_view text);

/// Parses `sacct --noheader --parsable2 --format=JobID,Start,End,NNodes` with times in seconds since 1970.
/// Rows without a start and an end are left out: the job waits. Pure.
std::vector<JobExecution> parse_executions(std::string_view text);

}  // namespace det::slurm
