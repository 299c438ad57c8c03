#include <det/foundation/files.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>

#include "check_result.hpp"
#include "golden.hpp"
#include "test_paths.hpp"

using namespace det;

namespace document_test {

constexpr UtcTime noon{1'795'262'400'000'042};

ExperimentSpec example_spec() {
    ExperimentSpec spec;
    spec.id = {7};
    spec.name = "digits \"quoted\"\n";
    spec.owner = "researcher";
    spec.created = noon;
    spec.root = "/shared/det";
    spec.pool = "compute";
    spec.shape = {2, 4, SlotType::cuda};
    spec.launch = Launch::rank;
    spec.mpi = "pmix";
    spec.entrypoint = {"sh", "-c", "./train --lr 0.1"};
    spec.environment_variables = {"A=1", "B=b=c"};
    spec.context = ContextSpec{std::string(64, 'a'), 12345};
    spec.searcher = {"single", "loss", true, Json{{"max_length", {{"batches", 100}}}}};
    spec.hyperparameters = Json{{"lr", {{"type", "const"}, {"val", 0.1}}}};
    spec.experiment_seed = 42;
    spec.max_restarts = 5;
    spec.checkpoint_path = "/shared/det/checkpoints";
    spec.config = Json{{"name", "digits"}, {"rate", 1e-300}};
    return spec;
}

CheckpointManifest example_manifest() {
    CheckpointManifest manifest;
    manifest.uuid = "0a1b2c3d-0000-4000-8000-000000000000";
    manifest.run = "7.3.2";
    manifest.steps_completed = 1000;
    manifest.time = noon;
    manifest.world_size = 8;
    manifest.files = {{"metadata.json", 30, 0xdeadbeef}, {"weights/rank-0.bin", std::uint64_t{1} << 40, 1}};
    manifest.files.push_back({"rank-00000.safetensors", 10'000, 2, 4096, {3, 4, 0xffffffff}, manifest.uuid});
    manifest.tensors = {{"w", "F32", {4, 8}, {{"rank-00000.safetensors", 4096, {2, 0}, {2, 8}}}}};
    manifest.directories = {"weights"};
    manifest.metadata = Json{{"steps_completed", 1000}};
    return manifest;
}

}  // namespace document_test

BOOST_AUTO_TEST_SUITE(document_test)

BOOST_AUTO_TEST_CASE(the_files_on_disk_keep_their_form) {
    check_golden("formats/spec.json", render_spec(example_spec()));
    check_golden("formats/manifest", render_manifest(example_manifest()));
    check_golden("formats/event.json", render_event({"created", noon, "researcher@login",
                                                     Json{{"job_id", "123"}, {"array", "0-0"}}}));
    check_golden("formats/desired", render_desired(DesiredState::pause));
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back) {
    BOOST_TEST((must(parse_spec(render_spec(example_spec()))) == example_spec()));
    auto preemptible = example_spec();
    preemptible.notice_s = 120;
    preemptible.forward_signals = {"TERM"};
    preemptible.preempted_exit_codes = {85};
    preemptible.progress_globs = {"*.pt"};
    preemptible.hang_timeout_s = 600;
    preemptible.tensorboard = true;
    BOOST_TEST((must(parse_spec(render_spec(preemptible))) == preemptible));
    auto persistent = example_spec();
    persistent.setup = {"export A='b \"c\"'", "two\nlines"};
    persistent.persist = {"checkpoints"};
    BOOST_TEST((must(parse_spec(render_spec(persistent))) == persistent));
    auto shared = example_spec();
    shared.working_directory = WorkingDirectory::shared;
    BOOST_TEST((must(parse_spec(render_spec(shared))) == shared));
    BOOST_TEST((must(parse_manifest(render_manifest(example_manifest()))) == example_manifest()));
    auto const old = must(parse_manifest(must(read_file(det::test::golden_path("formats/manifest-1")))));
    BOOST_TEST(old.files.size() == 2u);
    BOOST_TEST(old.tensors.empty());
    auto const event = must(parse_event(render_event({"renamed", noon, "a@b", Json{{"name", "x"}}})));
    BOOST_TEST(event.kind == "renamed");
    BOOST_TEST((event.time == noon));
    for (auto const desired :
         {DesiredState::run, DesiredState::pause, DesiredState::cancel, DesiredState::kill}) {
        BOOST_TEST((must(parse_desired(render_desired(desired))) == desired));
    }
}

BOOST_AUTO_TEST_CASE(a_person_may_reindent_a_document_but_not_change_it) {
    auto const text = render_spec(example_spec());
    BOOST_TEST(parse_spec(parse_json(text).dump(4)).has_value());
    auto changed = text;
    changed.replace(changed.find("researcher"), 10, "somebody99");
    BOOST_TEST((must_fail(parse_spec(changed)).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(every_cut_and_every_changed_byte_is_noticed) {
    auto const text = render_desired(DesiredState::kill);
    for (std::size_t size = 0; size + 2 < text.size(); ++size) {
        BOOST_TEST(!parse_desired(std::string_view(text).substr(0, size)).has_value());
    }
    auto const original = parse_any_document(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 0x04);
        // A change of white space may go unnoticed; a change of the value may not.
        if (auto const read = parse_desired(changed)) BOOST_TEST((*read == DesiredState::kill), "byte " << i);
    }
}

BOOST_AUTO_TEST_CASE(newer_versions_and_other_kinds_are_refused_by_name) {
    auto const newer = render_document({"spec", 2}, Json::object());
    auto const error = must_fail(parse_spec(newer));
    BOOST_TEST((error.code == codes::newer_format));
    BOOST_TEST(error.message.find("spec/2") != std::string::npos);
    BOOST_TEST((must_fail(parse_spec(render_desired(DesiredState::run))).code == codes::damaged));
    BOOST_TEST((must_fail(parse_manifest("{}")).code == codes::damaged));
    auto blocks = example_manifest();
    blocks.files.back().block_crc32c.pop_back();
    BOOST_TEST((must_fail(parse_manifest(render_manifest(blocks))).code == codes::damaged));
    auto flat = example_manifest();
    flat.tensors[0].slices[0].begin = {2};
    BOOST_TEST((must_fail(parse_manifest(render_manifest(flat))).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(a_manifest_with_an_invalid_time_is_damaged) {
    auto const parse_with = [](Json const& value) {
        auto body = parse_json(render_manifest(example_manifest())).at("body");
        body["time"] = value;
        return parse_manifest(render_document(documents::manifest, body));
    };
    BOOST_TEST((must(parse_with("1970-01-01T00:00:00Z")).time == UtcTime{}));
    for (auto const& value : {Json("2026-02-30T08:15:30Z"), Json("yesterday"), Json(""), Json(0)})
        BOOST_TEST((must_fail(parse_with(value)).code == codes::damaged), value.dump());
    BOOST_TEST(must_fail(parse_with("yesterday")).message.find("'yesterday' is no time") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_document_that_lacks_a_key_is_damaged) {
    auto body = parse_json(render_spec(example_spec())).at("body");
    for (auto const& [key, value] : body.items()) {
        auto without = body;
        without.erase(key);
        BOOST_TEST((must_fail(parse_spec(render_document(documents::spec, without))).code == codes::damaged),
                   key);
        auto wrong = body;
        wrong[key] = Json::array({nullptr});
        auto const read = parse_spec(render_document(documents::spec, wrong));
        BOOST_TEST((read.has_value() || read.error().code == codes::damaged), key);
    }
}

BOOST_AUTO_TEST_CASE(a_spec_may_have_a_container) {
    auto spec = example_spec();
    spec.container = ContainerSpec{ContainerRuntime::podman,
                                   "ubuntu",
                                   {{"/a", "/b", true, "rshared"}},
                                   {{"/dev/x", "/dev/y", "r"}},
                                   4096,
                                   true,
                                   {"SYS_PTRACE"},
                                   {"CHOWN"}};
    BOOST_TEST((must(parse_spec(render_spec(spec))) == spec));
    spec.container->runtime = ContainerRuntime::custom;
    spec.container->custom = {"sarus", {"sarus run {image}"}, {"--x"}, {"--gpu"}, {"sarus pull {image}"}};
    spec.container->image_file = "/images/x.sif";
    BOOST_TEST((must(parse_spec(render_spec(spec))) == spec));
    // Experiments that were created before templates had options for Intel's GPUs.
    auto old = parse_json(render_spec(spec)).at("body");
    BOOST_TEST(old["container"]["custom"].erase("xpu_options") == 1u);
    BOOST_TEST((must(parse_spec(render_document(documents::spec, old))) == spec));
}

BOOST_AUTO_TEST_CASE(a_spec_names_the_revisions_that_are_in_force) {
    auto spec = example_spec();
    BOOST_TEST(spec.revision() == 0u);
    BOOST_TEST(spec.first_run_of(1) == 0u);
    spec.revisions = {{1, {{0, 1}, {1, 2}}}, {3, {{1, 4}}}};
    BOOST_TEST((must(parse_spec(render_spec(spec))) == spec));
    BOOST_TEST(spec.revision() == 3u);
    BOOST_TEST(spec.first_run_of(0) == 1u);
    BOOST_TEST(spec.first_run_of(1) == 4u);
    BOOST_TEST(spec.first_run_of(2) == 0u);
    std::vector<Event> events{{"created", {}, "", Json::object()}};
    for (int number = 1; number <= 3; ++number)
        events.push_back({"continued", {}, "", Json{{"revision", number}}});
    auto const in_force = events_in_force(events, spec);
    BOOST_REQUIRE(in_force.size() == 3u);
    BOOST_TEST(in_force[1].body->at("revision") == 1);
    BOOST_TEST(in_force[2].body->at("revision") == 3);
}

BOOST_AUTO_TEST_CASE(arrays_are_read_from_the_bodies_of_events_and_invalid_ones_are_left_out) {
    std::vector<ArrayJob> written{{5, 0, 4, 2, 1}, {6, 4, 4, 1, 0, {3}, 9}};
    written[1].is_plain_job = true;
    std::vector<Event> const events{
        {std::string(event_kinds::created), {}, "", jobs_body(written)},
        {std::string(event_kinds::continued), {}, "", Json{{"job_id", 7}, {"revision", 1}}},
        {std::string(event_kinds::resubmitted), {}, "", Json::parse(R"({"arrays": [
            4, {}, {"job_id": "x"}, {"job_id": -1}, {"job_id": "8", "lanes": 0}, {"job_id": "8", "tasks": 1}]})")},
        {"notes", {}, "", jobs_body({{9}})},
    };
    auto const read = array_jobs_of(events);
    BOOST_TEST_REQUIRE(read.size() == 3u);
    BOOST_TEST(jobs_body({read[0], read[1]}) == jobs_body(written));
    BOOST_TEST(jobs_body({read[2]}) == jobs_body({{7, 0, std::numeric_limits<std::uint32_t>::max()}}));
}

BOOST_AUTO_TEST_CASE(tasks_are_picked_from_the_arrays_that_have_them) {
    std::vector<ArrayJob> const arrays{{0, 0, 4, 2, 1}, {0, 4, 3, 2, 1}};
    auto const picked = pick_tasks(arrays, {1, 5, 6, 99});
    BOOST_REQUIRE(picked.size() == 2u);
    BOOST_TEST(picked[0].tasks == std::vector<std::uint32_t>{0}, boost::test_tools::per_element());
    BOOST_TEST(picked[1].tasks == (std::vector<std::uint32_t>{0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tasks_of_different_arrays_with_the_same_first_trial_are_picked_apart) {
    // Tasks 0 and 1 of job 5 have two trials each; job 6 has task 3 again, with a trial of its own.
    std::vector<ArrayJob> const arrays{{5, 0, 4, 2, 1}, {6, 0, 4, 1, 1, {3}}};
    auto const picked = pick_tasks(arrays, {1, 3});
    BOOST_REQUIRE(picked.size() == 2u);
    BOOST_TEST(picked[0].job == 5u);
    BOOST_TEST(picked[0].tasks == std::vector<std::uint32_t>{0}, boost::test_tools::per_element());
    BOOST_TEST(picked[1].job == 6u);
    BOOST_TEST(picked[1].tasks == std::vector<std::uint32_t>{3}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(event_names_carry_number_and_kind) {
    BOOST_TEST(to_string(EventName{12, "created"}) == "12-created.json");
    BOOST_TEST((parse_event_name("12-created.json") == EventName{12, "created"}));
    for (auto const* name :
         {"", "x-created.json", "12.json", "12-.json", ".1-created.json.tmp", "12-created"}) {
        BOOST_TEST(!parse_event_name(name).has_value(), name);
    }
}

BOOST_AUTO_TEST_CASE(resources_are_listed_as_determined_lists_them) {
    auto const resources = resources_of(example_manifest());
    BOOST_TEST(resources.at("weights/") == 0);
    BOOST_TEST(resources.at("metadata.json") == 30);
}

BOOST_AUTO_TEST_SUITE_END()
