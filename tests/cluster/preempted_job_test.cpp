// Preemption by a real Slurm: the training saves, is requeued and resumes.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;

namespace preempted_job {

LoopbackOptions options_with(std::string const& proctrack, LoopbackOptions::Plugin plugin) {
    LoopbackOptions options;
    options.slots = 2;
    options.proctrack = proctrack;
    options.plugin = plugin;
    return options;
}

// Four ranks on two nodes. The training is long enough to be preempted.
constexpr auto training =
    "--template mpi --config resources.slots_per_trial=4 --config searcher.max_length.epochs=60";

std::int64_t microseconds(nlohmann::json const& time) {
    return parse_utc(time.get<std::string>()).value().microseconds;
}

/// Experiments that start after another one has ended, which is preempted meanwhile.
class Followers {
public:
    Followers(DigitsCluster const& cluster, int predecessor) : cluster_(cluster), predecessor_(predecessor) {
        add(fmt::format("--config slurm.after=[{}]", predecessor));
        add(fmt::format("--config slurm.after_any=[{}]", predecessor));
    }
    void check() const {
        auto const runs = runs_of(predecessor_);
        for (auto const id : ids_) {
            cluster_.finish(id);
            auto const own = runs_of(id);
            BOOST_REQUIRE(own.size() == 1u);
            // The requeue of the predecessor does not fulfil the dependency in Slurm.
            BOOST_TEST(own[0]["restart_count"] == 0, own.dump(2));
            BOOST_TEST(microseconds(own[0]["started"]) >= microseconds(runs.back()["ended"]), own.dump(2));
            BOOST_TEST(cluster_.shell(fmt::format("det-submit trial logs {}", id))
                           .find(R"(ports 6100 6006 {"6006":6006,"http":6100})") != std::string::npos);
        }
    }

private:
    void add(std::string const& arguments) {
        ids_.push_back(cluster_.create(
            "--config resources.slots_per_trial=2 --config 'environment={ports: {http: 6100}, proxy_ports: "
            "[{proxy_port: 6006}]}' --config 'entrypoint=echo ports $DET_PORT_HTTP $DET_PORT_6006 "
            "$DET_PORTS' " +
            arguments));
    }
    nlohmann::json runs_of(int experiment) const {
        return cluster_.ask(fmt::format("experiment describe {}", experiment))["trials"][0]["runs"];
    }

    DigitsCluster const& cluster_;
    int predecessor_;
    std::vector<int> ids_;
};

std::size_t reports(DigitsCluster const& cluster, int experiment) {
    return cluster.ask(fmt::format("trial metrics {} --group validation", experiment)).size();
}

/// Records the commands of Slurm that jobs run whose PATH begins with this directory.
class CommandLog {
public:
    explicit CommandLog(DigitsCluster const& cluster) : cluster_(cluster) {
        cluster.shell(R"(mkdir -p recorded && cd recorded
            for command in squeue scontrol sinfo scancel sacct sacctmgr sbatch; do
                cat >$command <<END
#!/bin/sh
[ -z "\$SLURM_JOB_ID" ] || echo "\${SLURM_RESTART_COUNT:-0} $command \$*" >>$PWD/log
exec $(command -v $command) "\$@"
END
                chmod +x $command
            done)");
    }
    std::string path_assignment() const { return "PATH=$HOME/recorded:$PATH "; }
    /// The commands of the job's first execution, with their arguments.
    std::vector<std::string> of_first_execution() const {
        constexpr std::string_view first = "0 ";
        auto const text = cluster_.shell("cat recorded/log");
        std::vector<std::string> commands;
        for (auto const line : split_lines(text)) {
            if (line.starts_with(first)) commands.emplace_back(line.substr(first.size()));
        }
        return commands;
    }

private:
    DigitsCluster const& cluster_;
};

/// Compares the commands of a job with the table in runtime/launch/README.md.
/// \param expected their beginnings. The last one sets StartTime.
void check_commands(std::vector<std::string> const& commands, std::vector<std::string> const& expected) {
    auto const all = fmt::format("{}", fmt::join(commands, "\n"));
    BOOST_REQUIRE_MESSAGE(commands.size() == expected.size(), all);
    for (std::size_t i = 0; i < commands.size(); ++i) BOOST_TEST(commands[i].starts_with(expected[i]), all);
    BOOST_TEST(commands.back().find(" StartTime=now+") != std::string::npos, all);
}

/// Preempts a training with an urgent job. Compares its final network with that of an undisturbed training.
void check_no_step_is_lost(DigitsCluster const& cluster) {
    CommandLog const log_of_commands(cluster);
    auto const interrupted = cluster.create(training, log_of_commands.path_assignment());
    cluster.wait_until([&] { return reports(cluster, interrupted) >= 2; }, std::chrono::seconds(60),
                       "epochs");
    Followers const followers(cluster, interrupted);
    cluster.shell("srun --partition urgent --nodes 2 true");
    cluster.finish(interrupted);

    auto const runs = cluster.ask(fmt::format("experiment describe {}", interrupted))["trials"][0]["runs"];
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[0]["follow"] == "requeue");
    BOOST_TEST(runs[1]["cause"] == "finished");
    BOOST_TEST(runs[1]["restart_count"] == 1);
    auto const times = cluster.ask(fmt::format("trial describe {}", interrupted))["interruptions"];
    BOOST_REQUIRE(times.size() == 1u);
    for (auto const* moment : {"noticed", "acknowledged", "ended", "queued", "started", "trained"})
        BOOST_TEST(times[0][moment].is_string(), moment);
    // It starts again before the two minutes for which Slurm holds back a requeued job.
    BOOST_TEST(microseconds(runs[1]["started"]) - microseconds(runs[0]["ended"]) < 60'000'000);
    // It resumes at the step at which it stopped, so no step is repeated.
    auto const log = cluster.shell(
        fmt::format("det-submit dump {}/trials/0/runs/0/journal", cluster.directory(interrupted).string()));
    auto const resumed_at = runs[1]["steps_completed"].get<int>();
    BOOST_TEST(resumed_at > 0);
    BOOST_TEST(log.find("acknowledgement") != std::string::npos, log);
    BOOST_TEST(cluster.shell(fmt::format("det-submit trial logs {} --rank 0 --run 1", interrupted))
                   .find(fmt::format("resumed at step {}", resumed_at)) != std::string::npos);

    check_commands(log_of_commands.of_first_execution(),
                   {
                       "squeue ",  // the run has begun
                       "squeue ",  // the ranks have got the notice
                       "squeue ",  // the run has ended
                       "scontrol requeue Incomplete ",
                       "scontrol update JobId=",
                   });
    followers.check();

    auto const left_alone = cluster.create(training);
    cluster.finish(left_alone);
    auto const weights = [&](int experiment) {
        return must(read_file(cluster.newest_checkpoint(experiment) / "weights"));
    };
    BOOST_TEST((weights(interrupted) == weights(left_alone)), "the weights differ");
}

}  // namespace preempted_job

BOOST_AUTO_TEST_SUITE(preempted_job)

BOOST_AUTO_TEST_CASE(no_step_is_lost_if_only_the_batch_script_gets_the_signal) {
    check_no_step_is_lost(DigitsCluster(options_with("cgroup", LoopbackOptions::Plugin::when_built)));
}

BOOST_AUTO_TEST_CASE(no_step_is_lost_if_every_process_gets_the_signal) {
    check_no_step_is_lost(DigitsCluster(options_with("linuxproc", LoopbackOptions::Plugin::off)));
}

BOOST_AUTO_TEST_CASE(without_a_grace_period_slurm_is_asked_once_why_it_ends_the_job) {
    auto options = preempted_job::options_with("cgroup", LoopbackOptions::Plugin::when_built);
    options.grace_s = 0;
    DigitsCluster const cluster(options);
    preempted_job::CommandLog const log_of_commands(cluster);
    auto const id = cluster.create(preempted_job::training, log_of_commands.path_assignment());
    cluster.wait_until([&] { return preempted_job::reports(cluster, id) >= 2; }, std::chrono::seconds(60),
                       "epochs");
    cluster.shell("srun --partition urgent --nodes 2 true");
    cluster.finish(id);
    auto const runs = cluster.ask(fmt::format("experiment describe {}", id))["trials"][0]["runs"];
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs[0]["cause"] == "preempted");
    BOOST_TEST(runs[0]["follow"] == "left-to-slurm");
    BOOST_TEST(runs[1]["cause"] == "finished");
    // It starts again before the two minutes for which Slurm holds back a requeued job.
    BOOST_TEST(preempted_job::microseconds(runs[1]["started"]) -
                   preempted_job::microseconds(runs[0]["ended"]) <
               90'000'000);
    auto commands = log_of_commands.of_first_execution();
    std::erase(commands, "scontrol show config");  // only if the step runs longer than 3 s after the notice
    preempted_job::check_commands(commands,
                                  {
                                      "squeue ",  // the run has begun
                                      "squeue ",  // the supervisor has got TERM, or the ranks the notice
                                      "scontrol update JobId=",
                                  });
}

BOOST_AUTO_TEST_SUITE_END()
