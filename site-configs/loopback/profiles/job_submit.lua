-- A site that accepts a job only with an account and a time limit. slurmctld calls slurm_job_submit for each new job.
local no_time_limit = 4294967294 -- NO_VAL

function slurm_job_submit(job, partitions, uid)
    if job.account == nil or job.account == "" then
        slurm.log_user("this site requires --account")
        return slurm.ERROR
    end
    if job.time_limit == nil or job.time_limit == no_time_limit then
        slurm.log_user("this site requires --time")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
