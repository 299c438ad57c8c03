#pragma once
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"

namespace det::cli {

/// Experiment 1 has ended, 2 runs; each has committed at steps 1 to 3 and validated best at step 1.
struct CheckpointFixture : CliFixture {
    checkpoint::SharedFsStore store{root.checkpoints()};
    std::vector<std::string> ended, running;  // UUIDs

    CheckpointFixture() {
        ended = fill(1);
        running = fill(2);
        must(start_run(ExperimentLayout(root, {1}), 0, 1).append(finish(20)));
        start_run(ExperimentLayout(root, {2}), 0, 30);
        slurm.other_jobs = {job_of(2, slurm::JobState::running, "RUNNING")};
    }

    std::vector<std::string> fill(std::uint32_t id) {
        auto const layout = create_example(root, id);
        auto spec = must(parse_spec(must(read_file(layout.spec()))));
        spec.checkpoint_path = root.checkpoints();
        must(write_file(layout.spec(), render_spec(spec)));
        must(make_directories(layout.trial(0).run(0).path()));
        auto journal = report(layout, 0);
        std::vector<std::string> uuids;
        for (std::uint64_t step = 1; step <= 3; ++step) {
            std::vector<float> weights(100, static_cast<float>(step));
            checkpoint::NoPeers alone;
            checkpoint::Saver saver(alone, store);
            auto const run = std::to_string(id) + ".0.0";
            must(saver.save(
                {run, step, minute(static_cast<int>(step)), Json{{"steps_completed", step}}},
                {tensor::NamedTensor::whole("w", tensor::DataType::float32, {10, 10}, weights.data())}));
            auto const outcome = must(saver.finish()).at(0);
            uuids.push_back(outcome.uuid);
            must(journal.append(MetricsReported{minute(1), "validation", step,
                                                Json{{"loss", 0.1 * static_cast<double>(step)}}}));
            must(journal.append(CheckpointCommitted{
                minute(1), outcome.uuid, step, resources_of(*outcome.manifest), outcome.manifest->metadata}));
        }
        return uuids;
    }
    void damage(std::string const& uuid) const {
        auto const shard = store.path_of(uuid) / "rank-00000.safetensors";
        auto bytes = must(read_file(shard));
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        must(write_file(shard, bytes));
    }
    bool is_there(std::string const& uuid) const { return store.load_manifest(uuid).has_value(); }
};

}  // namespace det::cli
