#include <det/core/rank_identity.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::core;

namespace rank_identity_test {

using Values = std::map<std::string, std::string, std::less<>>;

/// The variables of srun and torchrun for rank 5 of 8, the second rank on the second of two nodes.
Values launcher() {
    return {{"RANK", "5"},       {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"},
            {"GROUP_RANK", "1"}, {"GROUP_WORLD_SIZE", "2"}};
}

Values mpirun() {
    return {{"OMPI_COMM_WORLD_RANK", "5"},
            {"OMPI_COMM_WORLD_SIZE", "8"},
            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
}

/// Those that MPICH's launcher sets for the same rank.
Values hydra() {
    return {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}};
}

/// Those of horovodrun when it starts the ranks without MPI.
Values horovodrun() {
    return {{"HOROVOD_RANK", "5"},       {"HOROVOD_SIZE", "8"},       {"HOROVOD_LOCAL_RANK", "1"},
            {"HOROVOD_LOCAL_SIZE", "4"}, {"HOROVOD_CROSS_RANK", "1"}, {"HOROVOD_CROSS_SIZE", "2"}};
}

Values deepspeed() {
    return {{"RANK", "5"},       {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"},
            {"LOCAL_SIZE", "4"}, {"CROSS_RANK", "1"}, {"CROSS_SIZE", "2"}};
}

Info on_second_of_two_nodes() {
    Info info;
    info.rendezvous = {"n[0-1]", "4(x2)", 1};
    return info;
}

Error refusal(Values values, std::string const& name, std::optional<std::string> const& value,
              std::optional<Info> const& info = {}) {
    values.erase(name);
    if (value) values[name] = *value;
    auto error = must_fail(find_rank_identity(Environment(values), info));
    BOOST_TEST((error.code == codes::misuse), name);
    return error;
}

RankIdentity const fifth{5, 8, {1, 4, 1, 2}};

}  // namespace rank_identity_test

BOOST_AUTO_TEST_SUITE(rank_identity_test)

BOOST_AUTO_TEST_CASE(a_process_without_a_launcher_is_a_single_rank) {
    BOOST_TEST((must(find_rank_identity({}, {})) == RankIdentity{0, 1, {0, 1, 0, 1}}));
    // Slurm's variables alone make no rank: under `launch: node` they are those of the launcher's task.
    Values const slurm{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}};
    BOOST_TEST((must(find_rank_identity(Environment(slurm), on_second_of_two_nodes())) == RankIdentity{}));
}

BOOST_AUTO_TEST_CASE(a_single_rank_needs_only_its_rank_and_their_number) {
    Values single{{"RANK", "0"}, {"WORLD_SIZE", "1"}};
    BOOST_TEST((must(find_rank_identity(Environment(single), {})) == RankIdentity{}));
    single["LOCAL_RANK"] = "0";
    BOOST_TEST((must(find_rank_identity(Environment(single), {})) == RankIdentity{}));
    BOOST_TEST(refusal(single, "RANK", "1").message.find("rank 1 of 1") != std::string::npos);
    BOOST_TEST(refusal(single, "LOCAL_RANK", "x").message == "LOCAL_RANK='x' is not a number");
}

BOOST_AUTO_TEST_CASE(srun_and_torchrun_set_all_numbers) {
    BOOST_TEST((must(find_rank_identity(Environment(launcher()), {})) == fifth));
}

BOOST_AUTO_TEST_CASE(horovodrun_and_deepspeed_have_variables_of_their_own) {
    BOOST_TEST((must(find_rank_identity(Environment(horovodrun()), {})) == fifth));
    BOOST_TEST((must(find_rank_identity(Environment(deepspeed()), {})) == fifth));
    // If nodes have different numbers of ranks, horovodrun counts only the nodes that have a rank with this
    // local rank.
    auto uneven = horovodrun();
    uneven["HOROVOD_CROSS_RANK"] = "0";
    uneven["HOROVOD_CROSS_SIZE"] = "1";
    BOOST_TEST((must(find_rank_identity(Environment(uneven), on_second_of_two_nodes())) == fifth));
}

BOOST_AUTO_TEST_CASE(variables_of_a_launcher_override_those_of_the_task_that_runs_it) {
    auto const below = [](Values ranks) {
        for (auto const& [name, value] : Values{{"RANK", "0"},
                                                {"WORLD_SIZE", "2"},
                                                {"LOCAL_RANK", "0"},
                                                {"LOCAL_SIZE", "1"},
                                                {"LOCAL_WORLD_SIZE", "1"},
                                                {"CROSS_RANK", "0"},
                                                {"CROSS_SIZE", "2"},
                                                {"GROUP_RANK", "0"},
                                                {"GROUP_WORLD_SIZE", "2"}})
            ranks.try_emplace(name, value);
        return must(find_rank_identity(Environment(ranks), {}));
    };
    auto torchrun = launcher();
    torchrun["TORCHELASTIC_RUN_ID"] = "none";
    for (auto const& ranks : {horovodrun(), deepspeed(), torchrun}) BOOST_TEST((below(ranks) == fifth));
}

BOOST_AUTO_TEST_CASE(under_mpirun_the_run_numbers_the_nodes) {
    BOOST_TEST((must(find_rank_identity(Environment(mpirun()), on_second_of_two_nodes())) == fifth));
    BOOST_TEST((must(find_rank_identity(Environment(mpirun()), {})) == RankIdentity{5, 8, {1, 4, 0, 1}}));
    BOOST_TEST((must(find_rank_identity(Environment(hydra()), on_second_of_two_nodes())) == fifth));
    // srun sets these two variables as well, for tasks that need not be ranks.
    BOOST_TEST((must(find_rank_identity(Environment({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}), {})) ==
                RankIdentity{}));
}

BOOST_AUTO_TEST_CASE(under_mpirun_an_inherited_rank_is_ignored) {
    auto both = mpirun();
    both["RANK"] = "0";
    both["WORLD_SIZE"] = "2";
    BOOST_TEST(must(find_rank_identity(Environment(both), {})).rank == 5);
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_missing_or_no_number_is_named) {
    for (auto const& [name, unused] : launcher()) {
        if (name != "RANK")
            BOOST_TEST(refusal(launcher(), name, {}).message ==
                       name + " is not set, though this is one of several ranks");
        for (auto const* value : {"x", "-1", "1.5", "99999999999"})
            BOOST_TEST(refusal(launcher(), name, value).message == name + "='" + value + "' is not a number");
    }
    BOOST_TEST(refusal(launcher(), "RANK", "").message.starts_with("RANK is not set"));
    for (auto const& [name, unused] : mpirun()) refusal(mpirun(), name, "x");
    for (auto const& [name, unused] : horovodrun()) refusal(horovodrun(), name, "x");
    for (auto const& [name, unused] : deepspeed()) refusal(deepspeed(), name, "x");
}

BOOST_AUTO_TEST_CASE(numbers_that_contradict_each_other_are_refused) {
    for (auto const* name : {"RANK", "LOCAL_RANK", "GROUP_RANK"}) {
        auto const message = refusal(launcher(), name, "8").message;
        BOOST_TEST(message.find("can't be") != std::string::npos, message);
    }
    refusal(launcher(), "WORLD_SIZE", "5");
    refusal(launcher(), "WORLD_SIZE", "0");
    refusal(mpirun(), "OMPI_COMM_WORLD_LOCAL_RANK", "4");
    auto third_of_two = on_second_of_two_nodes();
    third_of_two.rendezvous.container_rank = 2;
    refusal(mpirun(), "OMPI_COMM_WORLD_RANK", "5", third_of_two);
}

BOOST_AUTO_TEST_CASE(a_run_whose_slots_can_not_be_read_is_refused) {
    auto info = on_second_of_two_nodes();
    info.rendezvous.slot_counts = "4(x";
    BOOST_TEST(!find_rank_identity(Environment(mpirun()), info).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
