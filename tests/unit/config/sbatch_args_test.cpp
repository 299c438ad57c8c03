#include <det/config/sbatch_args.hpp>

#include "config_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::config;

namespace sbatch_args_test {

using Items = std::vector<std::string>;

/// The options as sbatch gets them, "|" between; or why they are refused, with what to do instead.
std::string read_args(Items const& items) {
    auto const read = parse_sbatch_args(items);
    std::string out;
    for (auto const& arg : read.args) out += (out.empty() ? "" : "|") + arg.text();
    for (auto const& refusal : read.refused)
        out += "[" + std::to_string(refusal.item) + "] " + refusal.message + ": " + refusal.hint + "\n";
    return out;
}

bool is_refused(Items const& items) { return !parse_sbatch_args(items).refused.empty(); }

}  // namespace sbatch_args_test

BOOST_AUTO_TEST_SUITE(sbatch_args_test)

BOOST_AUTO_TEST_CASE(what_det_submit_says_itself_is_refused_with_what_to_do_instead) {
    std::string all;
    for (std::string const name : {"nodes=4",
                                   "ntasks=8",
                                   "ntasks-per-node=2",
                                   "ntasks-per-gpu=1",
                                   "ntasks-per-core=1",
                                   "ntasks-per-socket=1",
                                   "tasks-per-node=2",
                                   "gpus=4",
                                   "gpus-per-node=4",
                                   "gpus-per-task=1",
                                   "gpus-per-socket=1",
                                   "gres=gpu:4",
                                   "array=0-3",
                                   "wrap=true",
                                   "export=ALL",
                                   "export-file=f",
                                   "output=o",
                                   "error=e",
                                   "input=i",
                                   "chdir=/tmp",
                                   "requeue",
                                   "no-requeue",
                                   "signal=USR1@60",
                                   "open-mode=truncate",
                                   "parsable",
                                   "job-name=j",
                                   "comment=mine",
                                   "exclusive=user",
                                   "oversubscribe",
                                   "test-only",
                                   "hold",
                                   "wait",
                                   "uid=0",
                                   "gid=0",
                                   "clusters=c",
                                   "cluster=c",
                                   "help",
                                   "usage",
                                   "version",
                                   "quiet"}) {
        all += read_args({"--" + name});
    }
    check_golden("config/sbatch_args.txt", all);
}

BOOST_AUTO_TEST_CASE(what_det_submit_says_to_srun_is_refused_with_what_to_do_instead) {
    auto const read_step = [](Items const& items) {
        auto const read = parse_sbatch_args(items, SbatchUse::step);
        std::string text;
        for (auto const& arg : read.args) text += (text.empty() ? "" : "|") + arg.text();
        for (auto const& refusal : read.refused) text += refusal.message + ": " + refusal.hint + "\n";
        return text;
    };
    std::string all;
    for (std::string const name : {"nodes=4",
                                   "ntasks=8",
                                   "ntasks-per-node=2",
                                   "cpus-per-task=2",
                                   "nodelist=n0",
                                   "cpu-bind=map_cpu:1",
                                   "hint=nomultithread",
                                   "distribution=cyclic",
                                   "mpi=pmix",
                                   "gres=gpu:1",
                                   "gpu-bind=closest",
                                   "gpus-per-task=1",
                                   "overlap",
                                   "exact",
                                   "mem=1G",
                                   "export=NONE",
                                   "output=x",
                                   "error=x",
                                   "input=x",
                                   "label",
                                   "job-name=x",
                                   "jobid=7",
                                   "wait=3",
                                   "kill-on-bad-exit=0",
                                   "chdir=/tmp",
                                   "partition=p",
                                   "qos=q",
                                   "time=10",
                                   "pty",
                                   "multi-prog",
                                   "version"}) {
        all += read_step({"--" + name});
    }
    for (Items const& items : std::vector<Items>{{"-N4"},
                                                 {"-n", "4"},
                                                 {"-c2"},
                                                 {"-lQ"},
                                                 {"-y"},
                                                 {"--"},
                                                 {"true"},
                                                 {"--cpu-b=cores"},
                                                 {"--network"}}) {
        all += read_step(items);
    }
    check_golden("config/srun_args.txt", all);
    BOOST_TEST(read_step({"--network=single_node_vni", "--mem-bind local", "-u", "--uenv", "pytorch/v2",
                          "--propagate", "--resv-ports=4", "--environment=/home/me/ngc.toml"}) ==
               "--network=single_node_vni|--mem-bind=local|--unbuffered|--uenv=pytorch/v2|--propagate|"
               "--resv-ports=4|--environment=/home/me/ngc.toml");
}

BOOST_AUTO_TEST_CASE(every_spelling_of_an_option_is_known) {
    for (Items const& items : std::vector<Items>{{"--nodes=4"},
                                                 {"--nodes", "4"},
                                                 {"--nodes 4"},
                                                 {"--nodes\t4"},
                                                 {"  --nodes=4 "},
                                                 {"-N4"},
                                                 {"-N", "4"},
                                                 {"-N 4"},
                                                 {"-vN4"},
                                                 {"-vkN", "4"},
                                                 {"--nod=4"},
                                                 {"--node", "4"},
                                                 {"--no=4"},
                                                 {"--n=4"},
                                                 {"--mem=8G", "--nod=4"},
                                                 {"-t", "10", "-N4"},
                                                 {"--reservation", "-N4", "-N4"},
                                                 {"-n8"},
                                                 {"--ntasks-per-n=2"},
                                                 {"-G4"},
                                                 {"-G", "a100:4"},
                                                 {"-a0-3"},
                                                 {"-o/tmp/x"},
                                                 {"-e", "x"},
                                                 {"-i", "x"},
                                                 {"-D/tmp"},
                                                 {"-Jname"},
                                                 {"-H"},
                                                 {"-W"},
                                                 {"-s"},
                                                 {"-Q"},
                                                 {"-h"},
                                                 {"-V"},
                                                 {"-vH"},
                                                 {"-Mother"},
                                                 {"--exp=NONE"},
                                                 {"--excl"},
                                                 {"--req"},
                                                 {"--gres", "gpu:4"},
                                                 {"--gres=license:1,gpu:a100:2"},
                                                 {"--gres=gres:gpu:1"},
                                                 {"--gres", "gres/gpu=1"},
                                                 {"--gres=none"},
                                                 {"--tres-per-task=gres/gpu:1"}}) {
        BOOST_TEST(is_refused(items), items.front() << ": " << read_args(items));
    }
    BOOST_TEST(read_args({"--nodes", "4", "--mem=1G"}).starts_with("--mem=1G[0] '--nodes 4' gives --nodes"));
}

BOOST_AUTO_TEST_CASE(all_else_is_the_users_in_one_spelling) {
    struct Row {
        Items written;
        std::string read;
    };
    for (auto const& [written, read] :
         std::initializer_list<Row>{{{"--mem=8G"}, "--mem=8G"},
                                    {{"--mem", "8G"}, "--mem=8G"},
                                    {{"--mem 8G"}, "--mem=8G"},
                                    {{"--time-m=5"}, "--time-min=5"},
                                    {{"-t", "10", "-A", "me"}, "--time=10|--account=me"},
                                    {{"-t10"}, "--time=10"},
                                    {{"-t 10"}, "--time=10"},
                                    {{"-kv"}, "--no-kill=v"},
                                    {{"-vk"}, "--verbose|--no-kill"},
                                    {{"--reservation=two words"}, "--reservation=two words"},
                                    {{"--reservation two words"}, "--reservation=two words"},
                                    {{R"(--reservation "two words")"}, "--reservation=two words"},
                                    {{"--reservation='two words'"}, "--reservation=two words"},
                                    {{"--reservation='a' 'b'"}, "--reservation='a' 'b'"},
                                    {{"--reservation", "--nodes=4"}, "--reservation=--nodes=4"},
                                    {{"--reservation=a=b"}, "--reservation=a=b"},
                                    {{"--qos=high", "--constraint", "a100&ib", "-x", "n[1-3]"},
                                     "--qos=high|--constraint=a100&ib|--exclude=n[1-3]"},
                                    {{"--gres=license:1", "--gpu-bind=none", "--cpus-per-gpu=4"},
                                     "--gres=license:1|--gpu-bind=none|--cpus-per-gpu=4"},
                                    {{"--mail-type=END", "--nice", "--nice=5", "--contiguous"},
                                     "--mail-type=END|--nice|--nice=5|--contiguous"},
                                    {{"--of-a-plugin", "value", "--another=x", "--flag", "-v"},
                                     "--of-a-plugin=value|--another=x|--flag|--verbose"},
                                    {{}, ""}}) {
        BOOST_TEST(read_args(written) == read);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_option_is_refused) {
    std::string all;
    for (Items const& items : std::vector<Items>{{"mem=8G"},
                                                 {"8G"},
                                                 {""},
                                                 {":"},
                                                 {"--"},
                                                 {"-"},
                                                 {"-y"},
                                                 {"--contiguous=yes"},
                                                 {"--mem"},
                                                 {"--mem="},
                                                 {"-t"},
                                                 {"--acc=me"},
                                                 {"--account=me", "job.sh"}}) {
        all += read_args(items) + (all.ends_with('\n') ? "" : "\n");
    }
    check_golden("config/sbatch_no_options.txt", all);
}

BOOST_AUTO_TEST_CASE(of_several_the_last_one_counts) {
    auto const args = parse_sbatch_args(Items{"--mem=1G", "--mem=2G", "--nice"});
    BOOST_TEST(args.find("mem").value() == "2G");
    BOOST_TEST(!args.find("nice").has_value());
    BOOST_TEST(!args.find("time").has_value());
}

BOOST_AUTO_TEST_CASE(a_refused_option_is_told_with_its_place) {
    BOOST_TEST(
        sanity_of("slurm:\n  sbatch_args: [--mem=8G, '-N 4']\n") ==
        "exp.yaml:2:27: error: slurm.sbatch_args[1]: '-N 4' gives --nodes, which det-submit sets itself "
        "[bad-value]\n"
        "    2 |   sbatch_args: [--mem=8G, '-N 4']\n"
        "      |                           ^~~~~~\n"
        "  hint: set resources.slots_per_trial; the nodes and their tasks follow from it and from "
        "slurm.slots_per_node\n");
    BOOST_TEST(to_int(check_sanity(layer("slurm: {sbatch_args: [--nod=4]}")).exit_code()) == 3);
    BOOST_TEST(contains(sanity_of("slurm: {sbatch_args: [4, '--hold']}"), "sbatch_args[1]"));
    BOOST_TEST(sanity_of("slurm: {sbatch_args: []}") == "");
}

// Determined's own example.
BOOST_AUTO_TEST_CASE(exclusive_without_a_value_may_be_set) {
    BOOST_TEST(read_args({"--exclusive"}) == "--exclusive");
    BOOST_TEST(is_refused({"--exclusive=mcs"}));
}

BOOST_AUTO_TEST_SUITE_END()
