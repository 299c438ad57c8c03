// Nodes of a run that are cut off, suspended, or end while they are not connected, on a real Slurm that does
// not notice it itself; and what the liveness of a run costs on the shared file system.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <sys/inotify.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace node_liveness {

namespace fs = std::filesystem;

struct Site : LoopbackCluster {
    explicit Site(LoopbackOptions const& wanted = options()) : LoopbackCluster(wanted) {
        shell("mkdir code");
        must(write_file(home() / "e.yaml",
                        "name: e\nentrypoint: sleep 1000\nsearcher: {name: single, metric: loss}\n"
                        "slurm: {mpi: none, launch: rank}\n",
                        0644));
    }
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 4;
        options.slots = 1;
        options.slurm_options = {"SlurmdTimeout=600"};
        return options;
    }

    /// Creates an experiment and waits until the directory of its run exists, which is before its step
    /// starts.
    int begin(int nodes, std::string const& more = {}, std::string const& variables = {}) const {
        auto const answer = shell(fmt::format(
            "{} det experiment create e.yaml code --config resources.slots_per_trial={} {} --json", variables,
            nodes, more));
        auto const id = nlohmann::json::parse(answer).at("id").get<int>();
        wait_for_run(id, 0);
        return id;
    }
    /// Waits until the directory of a run exists.
    void wait_for_run(int id, int run) const {
        auto const until = steady_clock::now() + 120s;
        while (!path_exists(run_directory(id, run))) {
            BOOST_REQUIRE(steady_clock::now() < until);
            std::this_thread::sleep_for(5ms);
        }
    }
    fs::path run_directory(int id, int run) const {
        return LoopbackCluster::shared() / fmt::format("det/experiments/{}/trials/0/runs/{}", id, run);
    }
    /// Creates an experiment and waits until all nodes of its run are connected.
    int create(int nodes, std::string const& more = {}, std::string const& variables = {}) const {
        auto const id = begin(nodes, more, variables);
        wait_until([&] { return wrappers().size() >= static_cast<std::size_t>(nodes); }, 120s, "it runs");
        return id;
    }
    nlohmann::json runs(int id) const {
        return nlohmann::json::parse(shell(fmt::format("det experiment describe {} --json", id)))
            .at("trials")
            .at(0)
            .at("runs");
    }
    /// The output of the supervisor.
    std::string log_of(int id) const {
        return shell(fmt::format("cat $DET_ROOT/experiments/{}/slurm-*.out", id));
    }
    void wait_for_log(int id, std::string const& text, std::chrono::seconds limit) const {
        wait_until([&] { return log_of(id).find(text) != std::string::npos; }, limit, text);
    }

    /// Processes of this cluster, as this process sees them.
    std::vector<pid_t> processes(std::string const& name, std::string const& variable = {}) const {
        std::vector<pid_t> found;
        for (auto const& entry : must(list_directory("/proc"))) {
            auto const pid = parse_integer<pid_t>(entry);
            if (!pid) continue;
            auto const directory = fs::path("/proc") / entry;
            std::ifstream comm(directory / "comm"), environ(directory / "environ");
            std::string own_name, variables;
            std::getline(comm, own_name);
            std::getline(environ, variables, '\x01');
            bool const is_ours = variables.find(state().string()) != std::string::npos;
            if (own_name == name && is_ours && variables.find(variable) != std::string::npos)
                found.push_back(*pid);
        }
        return found;
    }
    static pid_t parent_of(pid_t pid) {
        auto const status = must(read_file(fmt::format("/proc/{}/status", pid)));
        auto const line = std::string_view(status).substr(status.find("PPid:") + 5);
        return parse_integer<pid_t>(trim(line.substr(0, line.find('\n')))).value();
    }
    std::vector<pid_t> wrappers(std::string const& node = {}) const {
        return processes("det-wrap-rank", node.empty() ? "" : "SLURMD_NODENAME=" + node);
    }
    std::vector<pid_t> supervisors() const { return processes("det-launch", "SLURM_JOB_ID"); }

    /// Runs the command 'ip' in the network of a node on which wrappers run.
    void ip(std::string const& node, std::vector<std::string> arguments) const {
        std::vector<std::string> argv{"nsenter", "--net", "--target", std::to_string(wrappers(node).at(0)),
                                      "ip"};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        auto const ended = must(SystemProcessRunner().run({argv, Environment::of_this_process(), 20s}));
        BOOST_REQUIRE_MESSAGE(ended.exit_code == 0, ended.err);
    }
    /// What `node` sends to `other` goes to a network card that does not exist, until it is healed.
    void cut_path(std::string const& node, std::string const& other) const {
        ip(node, {"neigh", "replace", address_of(other), "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud",
                  "permanent"});
    }
    void heal_path(std::string const& node, std::string const& other) const {
        ip(node, {"neigh", "del", address_of(other), "dev", "eth0"});
    }
    std::string address_of(std::string const& host) const {
        return shell(fmt::format("getent ahostsv4 {} | awk '{{print $1; exit}}'", host));
    }
};

/// The names that appear in a directory.
class CreatedNames {
public:
    explicit CreatedNames(fs::path const& directory) : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
        BOOST_REQUIRE(::inotify_add_watch(events_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) >= 0);
        for (auto const& name : must(list_directory(directory)))
            BOOST_REQUIRE_MESSAGE(!name.starts_with("node-"), "the nodes have begun before: " << name);
    }
    std::vector<std::string> take() const {
        std::vector<std::string> names;
        alignas(inotify_event) char buffer[65536];
        for (;;) {
            auto const size = ::read(events_.get(), buffer, sizeof buffer);
            if (size <= 0) return names;
            for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
                auto const* event = reinterpret_cast<inotify_event const*>(buffer + at);
                names.emplace_back(event->name);
                at += sizeof(inotify_event) + event->len;
            }
        }
    }

private:
    UniqueFd const events_;
};

/// The system calls that name a file below the shared directory of the site, or a descriptor of one.
int count_shared_calls(Site const& site, std::vector<pid_t> const& processes, std::chrono::seconds length,
                       std::string& calls) {
    TemporaryDirectory const directory;
    auto const output = directory / "calls";
    std::vector<std::string> argv{"timeout",
                                  "--signal=INT",
                                  std::to_string(length.count()),
                                  "strace",
                                  "--follow-forks",
                                  "--quiet=all",
                                  "--decode-fds=path",
                                  "--trace=%file,%desc",
                                  "--output=" + output.string()};
    for (auto const pid : processes) argv.push_back("--attach=" + std::to_string(pid));
    must(SystemProcessRunner().run({argv, Environment::of_this_process(), length + 60s}));
    int count = 0;
    auto const text = must(read_file(output));
    for (auto const line : split_lines(text)) {
        if (line.find(site.shared().string()) == std::string_view::npos) continue;
        ++count;
        calls += std::string(line) + "\n";
    }
    return count;
}

}  // namespace node_liveness

BOOST_FIXTURE_TEST_SUITE(node_liveness, Site)

BOOST_AUTO_TEST_CASE(a_node_that_is_cut_off_is_lost_within_seconds_and_the_trial_goes_on_without_it) {
    auto const id = create(3);
    BOOST_TEST(runs(id).at(0).at("hosts") == "n[0-2]");
    std::this_thread::sleep_for(3s);  // the nodes have joined, and were tried to be reached
    auto const cut_at = steady_clock::now();
    command({"node", "cut", "n2"});
    wait_for_log(id, "neither the supervisor nor another node reaches it", 60s);
    auto const noticed = steady_clock::now() - cut_at;
    BOOST_TEST_MESSAGE("noticed after " << noticed / 1ms << " ms");
    // The 10 s begin with the last beat, which came up to a second before the cut.
    BOOST_TEST((noticed >= 10s - 1s));
    wait_until([&] { return runs(id).size() == 2; }, 120s, "the next run");
    auto const lost = runs(id).at(0);
    BOOST_TEST(lost.at("cause") == "node-failed");
    BOOST_TEST(lost.at("message").get<std::string>().find("the network does not reach: node n2") !=
                   std::string::npos,
               lost.at("message"));
    BOOST_TEST(runs(id).at(1).at("hosts") == "n[0-1,3]");
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_node_whose_processes_are_suspended_is_not_lost) {
    auto const id = create(2, "--config slurm.node_timeout=4");
    std::this_thread::sleep_for(3s);
    for (auto const pid : wrappers("n1")) ::kill(pid, SIGSTOP);
    wait_for_log(id, "node n1 is silent, but up: its processes may be suspended", 60s);
    std::this_thread::sleep_for(12s);
    BOOST_TEST(runs(id).size() == 1u);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    for (auto const pid : wrappers("n1")) ::kill(pid, SIGCONT);
    wait_for_log(id, "node n1 is heard again", 60s);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_node_whose_path_to_the_supervisor_is_cut_goes_on_for_as_long_as_others_reach_it) {
    auto const id = create(3, "--config slurm.node_timeout=4");
    std::this_thread::sleep_for(3s);
    cut_path("n1", "n0");
    wait_for_log(id, "node n1 is up, but the network between it and the supervisor is cut", 60s);
    // From 15 s on the node connects again and again, in vain; after 65 s its processes could be called gone.
    std::this_thread::sleep_for(90s);
    BOOST_TEST(runs(id).size() == 1u);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    BOOST_TEST(log_of(id).find("no process of the run listens there") == std::string::npos);
    heal_path("n1", "n0");
    wait_for_log(id, "node n1 is heard again", 60s);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_node_that_has_ended_in_order_while_it_was_not_connected_is_not_gone) {
    must(write_file(home() / "code/work.sh", "while [ ! -e ~/end-$SLURMD_NODENAME ]; do sleep 0.2; done\n",
                    0644));
    auto const id = create(3, "--config slurm.node_timeout=4 --config 'entrypoint=bash work.sh'",
                           "DET_SILENCE_S=30");  // a node may be called gone after 20 s
    std::this_thread::sleep_for(3s);
    for (auto const pid : supervisors()) ::kill(pid, SIGSTOP);
    std::this_thread::sleep_for(20s);  // the nodes have given up their connections after 15 s
    shell("touch end-n1");
    wait_until([&] { return wrappers("n1").empty(); }, 60s, "the rank of n1 has ended");
    for (auto const pid : supervisors()) ::kill(pid, SIGCONT);
    wait_for_log(id, "node n1 is silent, and no process of the run listens there", 60s);
    std::this_thread::sleep_for(45s);
    BOOST_TEST(runs(id).size() == 1u);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    shell("touch end-n0 end-n2");
    wait_until([&] { return !runs(id).at(0).at("ended").is_null(); }, 60s, "the run ends");
    BOOST_TEST(runs(id).size() == 1u);
    BOOST_TEST(runs(id).at(0).at("cause") == "finished");
}

BOOST_AUTO_TEST_CASE(a_node_whose_slurmstepd_is_killed_ends_the_run_although_the_other_one_waits_for_it) {
    auto const id = create(2);
    wait_until([&] { return processes("sleep", "SLURM_JOB_ID").size() == 2; }, 60s, "both ranks run");
    auto const begun = steady_clock::now();
    for (auto const pid : wrappers("n1")) ::kill(parent_of(pid), SIGKILL);
    wait_until([&] { return runs(id).size() == 2; }, 120s, "the next run");
    BOOST_TEST_MESSAGE("the next run began after " << (steady_clock::now() - begun) / 1s << " s");
    auto const lost = runs(id).at(0);
    BOOST_TEST(lost.at("cause") == "failed");
    BOOST_TEST(lost.at("message").get<std::string>().find("the slurmstepd of its step was gone on node n1") !=
                   std::string::npos,
               lost.at("message"));
    BOOST_TEST(runs(id).at(1).at("job") == lost.at("job"));
    BOOST_TEST(runs(id).at(1).at("hosts") == "n[0-1]");
    wait_until([&] { return wrappers("n0").size() == 1 && wrappers("n1").size() == 1; }, 60s,
               "both nodes run");
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_node_whose_slurmstepd_and_wrapper_are_killed_is_gone_although_it_has_no_file) {
    // A node may be called gone 23 s after it was found that its host refuses connections.
    auto const id = create(2, "--config slurm.node_timeout=4", "DET_SILENCE_S=30");
    std::this_thread::sleep_for(3s);  // the nodes have joined, and were tried to be reached
    for (auto const pid : wrappers("n1")) {
        ::kill(parent_of(pid), SIGKILL);
        ::kill(pid, SIGKILL);
    }
    auto const killed_at = steady_clock::now();
    wait_until([&] { return !runs(id).at(0).at("ended").is_null(); }, 180s, "the run ends");
    BOOST_TEST_MESSAGE("the run ended after " << (steady_clock::now() - killed_at) / 1s << " s");
    BOOST_TEST(!path_exists(run_directory(id, 0) / "node-1.pulse"));
    BOOST_TEST(!path_exists(run_directory(id, 0) / "node-1.left"));
    auto const message = runs(id).at(0).at("message").get<std::string>();
    BOOST_TEST(message.find("node n1 sent no heartbeat for too long") != std::string::npos, message);
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(connected_nodes_make_no_file_and_their_ends_are_known) {
    must(write_file(home() / "code/work.sh",
                    "while [ ! -e ~/end-$DET_TRIAL_RUN_ID ]; do sleep 0.2; done\n"
                    "[ $DET_TRIAL_RUN_ID = 1 ] || [ $SLURM_PROCID != 2 ] || exit 9\n"
                    "[ $DET_TRIAL_RUN_ID = 1 ] || sleep 1000\n",
                    0644));
    auto const id = begin(4, "--config 'entrypoint=bash work.sh' --config max_restarts=1");
    CreatedNames const first(run_directory(id, 0));
    wait_until([&] { return wrappers().size() == 4; }, 120s, "it runs");
    // Longer than the delay after which nodes that are not connected make files.
    std::this_thread::sleep_for(15s);
    shell("touch end-0");
    // In the first run a rank fails, and Slurm kills the others. In the second one all end in order.
    wait_for_run(id, 1);
    CreatedNames const second(run_directory(id, 1));
    wait_until([&] { return processes("bash", "DET_TRIAL_RUN_ID=1").size() >= 4; }, 120s, "it runs again");
    std::this_thread::sleep_for(3s);  // the nodes have joined
    shell("touch end-1");
    wait_until([&] { return !runs(id).back().at("ended").is_null() && runs(id).size() == 2; }, 120s,
               "the end");
    BOOST_TEST(runs(id).at(0).at("cause") == "failed");
    BOOST_TEST(runs(id).at(1).at("cause") == "finished");
    for (auto const* created : {&first, &second}) {
        auto const names = created->take();
        for (auto const& name : names) {
            BOOST_TEST(!(name.starts_with("node-") && name.ends_with(".pulse")), name);
            BOOST_TEST(!name.ends_with(".left"), name);
        }
        BOOST_TEST_MESSAGE("names that appeared in the directory of a run of 4 nodes: "
                           << names.size() << ": " << fmt::format("{}", fmt::join(names, " ")));
    }
    // One file instead of those of the killed nodes; the end in order leaves none.
    BOOST_TEST(path_exists(run_directory(id, 0) / "tasks.pulse"));
    BOOST_TEST(!path_exists(run_directory(id, 1) / "tasks.pulse"));
    BOOST_TEST(!path_exists(run_directory(id, 1) / "rendezvous"));
}

BOOST_AUTO_TEST_CASE(a_run_whose_nodes_are_connected_touches_no_file_of_the_nodes) {
    auto const id = create(4, "--config slurm.node_timeout=4");
    std::this_thread::sleep_for(10s);  // what a start writes
    auto const supervisors = this->supervisors();
    std::string node_calls, supervisor_calls, calls_by_file;
    auto supervisor_count = std::async(
        std::launch::async, [&] { return count_shared_calls(*this, supervisors, 60s, supervisor_calls); });
    auto const of_nodes = count_shared_calls(*this, wrappers(), 60s, node_calls);
    auto const of_supervisor = supervisor_count.get();
    BOOST_TEST(of_nodes == 0, node_calls);
    BOOST_TEST(of_supervisor > 0);
    BOOST_TEST(of_supervisor < 60, supervisor_calls);
    // The supervisor reads no file of a node that is heard, so its calls do not grow with the number of
    // nodes.
    auto const of_10000_nodes_per_s = (of_nodes / 4.0 * 10'000 + of_supervisor) / 60;
    BOOST_TEST(of_10000_nodes_per_s < 50);
    BOOST_TEST_MESSAGE("calls of a run of 10,000 nodes a second: " << of_10000_nodes_per_s);
    // Without answers of the supervisor, the nodes touch their files.
    for (auto const pid : supervisors) ::kill(pid, SIGSTOP);
    auto const by_file = count_shared_calls(*this, wrappers(), 60s, calls_by_file);
    for (auto const pid : supervisors) ::kill(pid, SIGCONT);
    BOOST_TEST(by_file >= 4 * 3 * 2);  // each 20 s, open and touch at least
    BOOST_TEST_MESSAGE("calls on the shared file system a minute: of a node "
                       << of_nodes / 4.0 << ", not connected " << by_file / 4.0 << "; of the supervisor "
                       << of_supervisor);
    // The nodes connect again in these 20 s. None is taken for lost because the supervisor was stopped.
    std::this_thread::sleep_for(20s);
    BOOST_TEST(runs(id).size() == 1u);
    BOOST_TEST(runs(id).at(0).at("ended").is_null());
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_SUITE_END()
