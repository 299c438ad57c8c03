// The text of each JSON structure: golden files show its bytes, and texts of older programs are read.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/node_usage.hpp>
#include <det/protocol/preflight_facts.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/protocol/rank_placement.hpp>
#include <det/protocol/record.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>

#include "check_result.hpp"
#include "golden.hpp"
#include "test_paths.hpp"

using namespace det;

namespace formats_test {

constexpr UtcTime noon{1'795'262'400'000'042};
constexpr char uuid[] = "0a1b2c3d-0000-4000-8000-000000000000";

/// A specification in which each member differs from its default.
ExperimentSpec full_spec() {
    ExperimentSpec spec;
    spec.id = {7};
    spec.name = "digits";
    spec.owner = "researcher";
    spec.parent = ExperimentId{6};
    spec.created = noon;
    spec.root = "/shared/det";
    spec.pool = "compute";
    spec.shape = {2, 4, SlotType::rocm};
    spec.lanes = 3;
    spec.has_fewer_tasks = true;
    spec.has_gres = false;
    spec.spare_nodes = 1;
    spec.excluded_nodes = "n[1-2]";
    spec.sbatch_options = {"--qos=low"};
    spec.launch = Launch::rank;
    spec.mpi = "pmi2";
    spec.srun_args = {"--network=single_node_vni"};
    spec.bind = "1,0";
    spec.entrypoint = {"sh", "-c", "./train"};
    spec.environment_variables = {"A=1"};
    spec.setup = {"module load cuda"};
    spec.working_directory = WorkingDirectory::shared;
    spec.persist = {"checkpoints"};
    spec.context = ContextSpec{std::string(64, 'a'), 12345, true};
    spec.container = ContainerSpec{ContainerRuntime::podman,
                                   "ubuntu",
                                   {{"/a", "/b", true, "rshared"}},
                                   {{"/dev/x", "/dev/y", "r"}},
                                   4096,
                                   true,
                                   {"SYS_PTRACE"},
                                   {"CHOWN"}};
    spec.searcher = {"single", "loss", false, Json{{"max_length", 100}}};
    spec.hyperparameters = Json{{"lr", 0.1}};
    spec.experiment_seed = 42;
    spec.trial_count = 9;
    spec.max_restarts = 6;
    spec.has_default_max_restarts = true;
    spec.preemption_timeout_s = 60;
    spec.notice_s = 120;
    spec.log_policies = {{"oom", ".*out of memory.*", LogAction::exclude_node}};
    spec.forward_signals = {"TERM"};
    spec.preempted_exit_codes = {85};
    spec.progress_globs = {"*.pt"};
    spec.hang_timeout_s = 600;
    spec.tensorboard = true;
    spec.source_checkpoint = uuid;
    spec.source_checkpoint_sha256 = "5e1f";
    spec.source_checkpoint_owner = 1000;
    spec.checkpoint_path = "/shared/det/checkpoints";
    spec.config = Json{{"name", "digits"}};
    spec.revisions = {{1, {{0, 1}, {1, 2}}}, {3, {{1, 4}}}};
    return spec;
}

CheckpointManifest full_manifest() {
    CheckpointManifest manifest;
    manifest.uuid = uuid;
    manifest.run = "7.3.2";
    manifest.steps_completed = 1000;
    manifest.time = noon;
    manifest.world_size = 8;
    manifest.files = {{"metadata.json", 30, 0xdeadbeef}};
    manifest.files.push_back({"empty", 0, 0, 4096});
    manifest.files.push_back(
        {"rank-00000.safetensors", 10'000, 2, 4096, {3, 4, 0xffffffff}, uuid, 8192, {"aa", "bb"}});
    manifest.directories = {"weights"};
    manifest.metadata = Json{{"steps_completed", 1000}};
    manifest.tensors = {{"w", "F32", {4, 8}, {{"rank-00000.safetensors", 4096, {2, 0}, {2, 8}}}}};
    return manifest;
}

std::vector<Record> records() {
    return {RunStarted{noon, "123_4", 1, "n0", "n[0-1]", 2, "", 0},
            RunStarted{noon, "123_4", 1, "n0", "n[0-1]", 2, uuid, 500, noon},
            RunEnded{noon, Cause::preempted, NextAction::requeue, 0, "Slurm wanted the nodes"},
            RunEnded{noon, Cause::unknown, NextAction::left_to_slurm, 137, "no step", "n1", "moved"},
            MetricsReported{noon, "training", 10, Json{{"loss", 0.25}}},
            MetricsReported{noon, "training", 10, Json{{"loss", 0.25}}, Rank{3}},
            CheckpointCommitted{noon, uuid, 10, Json{{"a", 1}}, Json{{"steps_completed", 10}}},
            CheckpointCommitted{noon, uuid, 10, Json{{"a", 1}}, Json{{"steps_completed", 10}}, 0.5, "5e1f"},
            PreemptionAcknowledged{noon},
            PreemptionAcknowledged{noon, noon},
            ProgressReported{noon, 0.5},
            CheckpointBegun{noon, uuid, 10},
            FirstStep{noon},
            JobRequeued{noon},
            EarlyExitReported{noon, "INVALID_HP"},
            StatusSet{noon, "warming up"},
            AlertRaised{noon, "loss", "it is NaN", "warn"},
            TrialMetadataSet{noon, Json{{"dataset", 2}}},
            OperationCompleted{noon, 900, 0.25},
            OperationCompleted{noon, 900, std::numeric_limits<double>::infinity()},
            SearchDecision{noon, 100, 1, 2, "12@0.25", "0-3,12", "0123abcd", 1, 2, "advance"},
            ReportsDropped{noon, 7, "the queue of reports was full"},
            JobAllocated{noon, UtcTime{1'000'000}, {}, {}, 2},
            JobAllocated{noon, UtcTime{1'000'000}, UtcTime{0}, UtcTime{3'000'000}, 2},
            ContinuedFromMemory{noon, 30, 1}};
}

/// One line per record: its type and its payload.
std::string render(std::vector<Record> const& list) {
    std::string text;
    for (auto const& record : list) {
        auto const encoded = encode_record(record);
        text += std::to_string(static_cast<int>(encoded.type)) + " " + encoded.payload + "\n";
    }
    return text;
}

Record decode(std::string_view line) {
    auto const blank = line.find(' ');
    auto const type = parse_integer<std::uint16_t>(line.substr(0, blank)).value();
    auto record = must(decode_record(type, line.substr(blank + 1)));
    BOOST_REQUIRE(record.has_value());
    return *std::move(record);
}

ClusterInfo full_cluster_info() {
    return {"http://m", "c", "n0", {0, 1}, "7.3", "7.3.2", "token", "TRIAL", uuid, "5e1f"};
}

TrialInfo full_trial_info() {
    return {{{7}, 3}, 2, 42, Json{{"lr", 0.1}}, Json{{"name", "digits"}}, 1000, true, "eth0"};
}

PreflightFacts full_facts() {
    PreflightFacts facts;
    facts.node = "n0";
    facts.index = 1;
    facts.is_directory_same = true;
    facts.program = "p";
    facts.clock_offset_us = -5;
    facts.path = "/bin";
    facts.missing_programs = {"podman"};
    facts.limits = {{"memlock_bytes", -1}};
    facts.unresolved = {"n1"};
    facts.interfaces = "eth0";
    facts.bytes_per_s = 1e9;
    facts.gpus_allocated = 4;
    facts.gpus_visible = 3;
    facts.gpu_numa_nodes = {1, -1};
    facts.core_numa_nodes = {0, 1};
    facts.runtime_error = "none";
    facts.storage = StorageFacts{"full", 1e6, 7};
    return facts;
}

RankPlacement full_placement() { return {3, "n2", "0-7,64-71", {0, 1}, 1}; }

std::string other_texts() {
    RankFailure const failure{noon, 3, "n2", 137, 9, "bye\n"};
    RankFailure const setup{noon, std::nullopt, "n2", 1, 0, "", "line 1", "rank 3 was lost"};
    auto text = render_cluster_info(full_cluster_info()) + render_cluster_info({});
    text += render_trial_info(full_trial_info()) + render_trial_info({});
    text += must(render_rendezvous_info({"n[0-1]", "4(x2)", 1, {"10.0.0.1", "10.0.0.2", "eth0"}}));
    text += render_resources_info({{"GPU-5ba4"}});
    text += render_preflight_facts(full_facts()) + render_preflight_facts({});
    text += render_rank_failure(failure) + render_rank_failure(setup);
    text += render_rank_placement(full_placement()) + render_rank_placement({});
    text += render_node_usage({3, 20'000, 1.5}) + render_node_usage({});
    text += render_rendezvous_file({"secret"}) +
            render_rendezvous_file({"secret", Endpoint{"10.0.0.1", 2900}, 8});
    text += to_line(jobs_body({{5, 0, 4, 2, 1}, {6, 4, 4, 1, 0, {3}, 9}})) + "\n";
    return text;
}

}  // namespace formats_test

BOOST_AUTO_TEST_SUITE(formats_test)

BOOST_AUTO_TEST_CASE(every_structure_keeps_its_bytes) {
    check_golden("formats/spec-full.json", render_spec(full_spec()));
    check_golden("formats/manifest-full", render_manifest(full_manifest()));
    check_golden("formats/records.txt", render(records()));
    check_golden("formats/other.txt", other_texts());
}

BOOST_AUTO_TEST_CASE(every_structure_is_read_as_it_was_written) {
    BOOST_TEST((must(parse_spec(render_spec(full_spec()))) == full_spec()));
    BOOST_TEST((must(parse_manifest(render_manifest(full_manifest()))) == full_manifest()));
    auto const lines = render(records());
    std::vector<Record> decoded;
    for (auto const line : split_lines(lines)) decoded.push_back(decode(line));
    BOOST_TEST(render(decoded) == lines);
    BOOST_TEST((must(parse_cluster_info(render_cluster_info(full_cluster_info()))) == full_cluster_info()));
    BOOST_TEST((must(parse_trial_info(render_trial_info(full_trial_info()))) == full_trial_info()));
    auto const placement = render_rank_placement(full_placement());
    BOOST_TEST((parse_rank_placements(placement + "{torn") == std::vector{full_placement()}));
    BOOST_TEST(parse_rank_placements(R"({"rank_placement":2,"rank":1})").empty());
    BOOST_TEST(parse_rank_placements(R"({"rank_placement":1,"rank":-1,"host":1,"cpus":0})").empty());
    BOOST_TEST((must(parse_node_usage(render_node_usage({3, 20'000, 1.5}))) == NodeUsage{3, 20'000, 1.5}));
    BOOST_TEST((must(parse_node_usage(render_node_usage({}))) == NodeUsage{}));
    for (auto const* text : {"", "{torn", R"({"node_usage":2,"windows":1,"idle_ms":1,"percent":1})",
                             R"({"node_usage":1,"windows":-1,"idle_ms":1,"percent":1})"})
        BOOST_TEST((must_fail(parse_node_usage(text)).code == codes::damaged), text);
    auto const facts = render_preflight_facts(full_facts());
    BOOST_TEST(render_preflight_facts(must(parse_preflight_facts(facts))) == facts);
}

BOOST_AUTO_TEST_CASE(texts_of_older_programs_are_read) {
    auto const ended = std::get<RunEnded>(decode(
        R"(2 {"cause":"failed","exit_code":1,"follow":"stop","message":"m","time":"2026-11-21T08:15:30Z"})"));
    BOOST_TEST(ended.bad_hosts == "");
    BOOST_TEST(ended.message == "m");
    auto const failures = parse_rank_failures(
        R"({"exit_code":1,"host":"n2","rank":3,"rank_end":1,"time":"2026-11-21T08:15:30Z"})"
        "\n");
    BOOST_REQUIRE(failures.size() == 1u);
    BOOST_TEST(failures[0].signal == 0);
    BOOST_TEST(failures[0].last_output == "");
    auto const rendezvous =
        must(parse_rendezvous_info(R"({"hosts": "n0", "slot_counts": "4", "container_rank": 0})"));
    BOOST_TEST(rendezvous.network.chief_address == "");
    auto const cluster = must(parse_cluster_info(
        R"({"master_url": "", "cluster_id": "", "agent_id": "", "slot_ids": [], "task_id": "7.3", )"
        R"("allocation_id": "", "session_token": "", "task_type": "TRIAL"})"));
    BOOST_TEST(cluster.task_id == "7.3");
    BOOST_TEST(!cluster.latest_checkpoint.has_value());
    auto const spec = must(parse_spec(must(read_file(det::test::golden_path("formats/spec.json")))));
    BOOST_TEST(spec.has_gres);
    BOOST_TEST((spec.working_directory == WorkingDirectory::node_local));
    BOOST_TEST(!spec.hang_timeout_s.has_value());
    BOOST_TEST(spec.srun_args.empty());
    BOOST_TEST(spec.bind == "");
    BOOST_TEST(
        must(parse_manifest(must(read_file(det::test::golden_path("formats/manifest-1"))))).tensors.empty());
}

BOOST_AUTO_TEST_CASE(wrong_values_are_damage_that_is_named) {
    auto const message_with = [](char const* key, Json const& value) {
        auto body = to_json(full_spec());
        body[key] = value;
        auto const error = must_fail(spec_from_json(body));
        BOOST_TEST((error.code == codes::damaged));
        return error.message;
    };
    BOOST_TEST(message_with("launch", "moon").find("launch 'moon' is unknown") != std::string::npos);
    BOOST_TEST(message_with("setup", 7).find("must be array") != std::string::npos);
    BOOST_TEST(message_with("name", 7).find("must be string") != std::string::npos);
    BOOST_TEST(message_with("lanes", "x").find("must be number") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
