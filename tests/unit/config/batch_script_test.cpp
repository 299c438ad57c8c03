// The header of a batch script, read as sbatch reads it.
#include <det/config/batch_script.hpp>

#include "config_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::config;

namespace batch_script_test {

BatchScriptCall const call{"job.sbatch", "/home/me/job.sbatch", {"--lr", "0.1 and more"}, "/home/me"};

Result<BatchScript, Diagnostics> read_header(std::string const& header) {
    return read_batch_script("#!/bin/bash\n" + header + "python train.py\n", call);
}

/// The options of the header as one command line.
std::string options_of(std::string const& header) {
    auto const script = must(read_header(header));
    std::string options;
    for (auto const& item : script.layer.find("slurm")->find("sbatch_args")->items())
        options += (options.empty() ? "" : "|") + *item.text();
    return options;
}

std::string warnings_of(std::string const& header) { return explain(must(read_header(header)).warnings); }
std::string errors_of(std::string const& header) { return explain(must_fail(read_header(header))); }

std::vector<std::uint32_t> tasks_of(std::string_view text) {
    return must(parse_array_expression(text)).task_ids;
}

using Words = std::vector<std::string>;

}  // namespace batch_script_test

BOOST_AUTO_TEST_SUITE(batch_script_test)

BOOST_AUTO_TEST_CASE(the_header_of_a_script_is_a_configuration_with_places) {
    auto const script = must(read_batch_script(
        "#!/bin/bash -l\n# A comment.\n#SBATCH --job-name=gpt\n#SBATCH -N 2 --gpus-per-node=4  # two "
        "nodes\n\n"
        "#SBATCH --array=1-5:2%2\n#SBATCH --chdir=sub\n#SBATCH --comment=mine --no-requeue --hold --requeue\n"
        "cd src\n#SBATCH --time=1\n",
        call));
    auto const merged = must(merge_layers({Layer{script.layer}, Layer{layer(essentials, "defaults")}}));
    auto const config = must(read_experiment_config(merged));
    BOOST_TEST((config.slurm.launch == Launch::script));
    check_golden(
        "config/batch_script.txt",
        yaml::render_yaml(script.layer, [](yaml::Node const& value) { return value.location().text(); }) +
            "---\n" + explain(script.warnings));
}

BOOST_AUTO_TEST_CASE(words_are_split_as_sbatch_splits_them) {
    BOOST_TEST(options_of("#SBATCH -N2 -n 4\t--mem 8G\n") == "--nodes=2|--ntasks=4|--mem=8G");
    BOOST_TEST(options_of("#SBATCH -J \"my job\" -o 'out %j.txt' --comment=a\n") ==
               "--job-name=my job|--output=out %j.txt");
    BOOST_TEST(options_of("#SBATCH --job-name=a\\\"b -C \"x#y\"#comment -n 8\n") ==
               "--job-name=a\"b|--constraint=x#y");
    BOOST_TEST(options_of("#SBATCH\n##SBATCH -N 2\n #SBATCH -N 3\n#SBATCH--nodes=4\n") == "--nodes=4");
    BOOST_TEST(options_of("#SBATCH --gres\n# a value on the next line\n#SBATCH gpu:2\n") == "--gres=gpu:2");
    BOOST_TEST(options_of("#SBATCH --det --exclusive=user --signal=B:USR1@60 -p a,b\n") ==
               "--det|--exclusive=user|--signal=B:USR1@60|--partition=a,b");
    BOOST_TEST(options_of("echo a command\n#SBATCH -N 2\n") == "");
    BOOST_TEST(options_of("#SBATCH --job-name        ddp\n#SBATCH -LXserver -t0\n") ==
               "--job-name=ddp|--licenses=Xserver|--time=0");
    BOOST_TEST(options_of("#SBATCH --out=%x --err=%j.err  # abbreviations\n") ==
               "--output=%x|--error=%j.err");
}

BOOST_AUTO_TEST_CASE(a_header_may_have_values_that_are_not_filled_in) {
    BOOST_TEST(options_of("#SBATCH --account=\n#SBATCH --mail-user= # your address\n") ==
               "--account=|--mail-user=");
    auto const script = must(read_header("#SBATCH --job-name=   ## NAME\n"));
    BOOST_TEST(*script.layer.find("name")->text() == "job.sbatch");
}

BOOST_AUTO_TEST_CASE(what_has_no_effect_in_a_header_is_said) {
    BOOST_TEST(warnings_of("#SBATCH --requeue --det-requeue --parsable --quiet\n") == "");
    BOOST_TEST(options_of("#SBATCH --det --det-requeue --det-log=log\n") == "--det|--det-log=log");
    BOOST_TEST(contains(warnings_of("#SBATCH -N 2 oops -n 4\n"), "'oops' is no option: sbatch reads no"));
    BOOST_TEST(options_of("#SBATCH -N 2 oops -n 4\n") == "--nodes=2");
    BOOST_TEST(contains(warnings_of("date\n#SBATCH -N 2\n#SBATCH -n 2\n"),
                        "job.sbatch:3:1: warning: this #SBATCH line and 1 after it"));
}

BOOST_AUTO_TEST_CASE(what_can_not_be_submitted_is_refused_with_its_place) {
    check_golden(
        "config/batch_script_errors.txt",
        errors_of("#SBATCH --nodes\n#SBATCH hetjob\n#SBATCH -J 'open\n#SBATCH -y\n#SBATCH --array=5-1\n") +
            errors_of("#SBATCH --array=1-3:0 -N\n") +
            explain(must_fail(read_batch_script("#!\necho\r\n", call))));
}

BOOST_AUTO_TEST_CASE(an_array_has_the_numbers_that_slurm_gives_it) {
    BOOST_TEST(tasks_of("0-3") == (std::vector<std::uint32_t>{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(tasks_of("1-10:4") == (std::vector<std::uint32_t>{1, 5, 9}), boost::test_tools::per_element());
    BOOST_TEST(tasks_of("9,1,[5-6],5") == (std::vector<std::uint32_t>{1, 5, 6, 9}),
               boost::test_tools::per_element());
    BOOST_TEST(must(parse_array_expression("1-9%3")).running_max.value_or(0) == 3u);
    BOOST_TEST(must(parse_array_expression("1-9:2,20%3")).indices == "1-9:2,20");
    for (auto const* wrong :
         {"", "x", "1-", "-3", "3-1", "1-5:0", "5:2", "1,,2", "1-9%", "1-9%x", "1-4000001"})
        BOOST_TEST(!parse_array_expression(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_CASE(the_first_line_is_split_as_the_kernel_splits_it) {
    BOOST_TEST(read_shebang("#! /usr/bin/env  bash -l \nrest") == (Words{"/usr/bin/env", "bash -l"}),
               boost::test_tools::per_element());
    BOOST_TEST(read_shebang("#!/bin/sh") == Words{"/bin/sh"}, boost::test_tools::per_element());
    BOOST_TEST(read_shebang("name: x\n").empty());
    BOOST_TEST(!is_batch_script("# a comment\nname: x\n"));
}

BOOST_AUTO_TEST_CASE(options_that_only_a_batch_script_sets_need_one) {
    BOOST_TEST(contains(sanity_of("slurm: {launch: script, sbatch_args: [--nodes=2]}"),
                        "which det-submit sets itself"));
    BOOST_TEST(sanity_of("slurm: {batch_script: /job.sbatch, sbatch_args: [--nodes=2]}") == "");
    BOOST_TEST(contains(sanity_of("slurm: {batch_script: /job.sbatch, sbatch_args: [--hold]}"), "--paused") ==
               false);
    BOOST_TEST(
        contains(sanity_of("slurm: {batch_script: /job.sbatch, sbatch_args: [word]}"), "this is no option"));
}

BOOST_AUTO_TEST_SUITE_END()
