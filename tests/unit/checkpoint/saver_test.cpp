// Saving and loading, with ranks that are threads.
#include <det/checkpoint/load.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <latch>
#include <map>
#include <numeric>

#include "saved_model.hpp"

using namespace det;
using namespace det::checkpoint;

namespace saver_test {

SaverOptions small_blocks() {
    auto options = options_for_cores(2);
    options.block_size_bytes = 8192;
    return options;
}

/// A matrix whose rows are divided among the ranks, a vector that all ranks have, and a scalar.
struct Model {
    static constexpr std::uint64_t rows = 61, columns = 301;
    std::vector<float> matrix;
    std::vector<double> vector = std::vector<double>(1000);
    std::int64_t step = 0;
    Box part;

    Model(int rank, int size) {
        part = rows_of(rank, size, rows, columns);
        matrix.resize(part.shape[0] * columns);
    }
    void fill(std::int64_t seed) {
        for (std::size_t i = 0; i < matrix.size(); ++i)
            matrix[i] = static_cast<float>(seed) + static_cast<float>(part.begin[0] * columns + i);
        std::iota(vector.begin(), vector.end(), static_cast<double>(seed));
        step = seed;
    }
    State state() {
        return {NamedTensor::slice("matrix", DataType::float32, {rows, columns}, part, matrix.data()),
                NamedTensor::whole("vector", DataType::float64, {vector.size()}, vector.data()),
                NamedTensor::whole("step", DataType::int64, {}, &step)};
    }
    static SaverOptions saver_options() { return small_blocks(); }
    friend bool operator==(Model const&, Model const&) = default;
};

/// A store in which put() and share() each block until a latch is open.
class BlockedStore final : public Store {
public:
    BlockedStore(Store& store, std::latch& put, std::latch& share)
        : store_(store), put_(put), share_(share) {}

    std::string address_of(std::string const& uuid) const override { return store_.address_of(uuid); }
    Result<std::filesystem::path> create_directory(std::string const& uuid) override {
        return store_.create_directory(uuid);
    }
    bool has_shared_directory() const override { return store_.has_shared_directory(); }
    Status put_files(std::string const& uuid, std::span<CheckpointFile> files) override {
        put_.wait();
        return store_.put_files(uuid, files);
    }
    Result<bool> share_file(std::string const& from, std::string const& uuid,
                            std::string const& path) override {
        share_.wait();
        return store_.share_file(from, uuid, path);
    }
    Status write_manifest(CheckpointManifest const& manifest, std::string const& text,
                          MayCommit const& may_commit) override {
        return store_.write_manifest(manifest, text, may_commit);
    }
    Result<std::string> read_manifest_text(std::string const& uuid) const override {
        return store_.read_manifest_text(uuid);
    }
    Result<std::filesystem::path> fetch(CheckpointManifest const& manifest,
                                        Selector const& selector) const override {
        return store_.fetch(manifest, selector);
    }
    Result<std::vector<std::string>> list() const override { return store_.list(); }
    Status remove(std::string const& uuid) override { return store_.remove(uuid); }

private:
    Status replace_manifest(std::string const&, std::string const&) override { return Ok{}; }
    Status remove_file(std::string const&, std::string const&) override { return Ok{}; }

    Store& store_;
    std::latch& put_;
    std::latch& share_;
};

/// The number of saves that end with success in finish().
int finish(Saver& saver) {
    auto const ended = must(saver.finish());
    return static_cast<int>(
        std::ranges::count_if(ended, [](auto const& outcome) { return !outcome.error.has_value(); }));
}

using Fixture = StoreFixture<Model>;

}  // namespace saver_test

BOOST_FIXTURE_TEST_SUITE(saver_test, Fixture)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_loads_a_save_of_any_other_number) {
    for (int const writers : {1, 2, 4}) {
        auto const uuid = saved(writers, 7);
        must(store.verify_on_disk(uuid));
        for (int const readers : {1, 2, 3, 8}) {
            std::atomic<int> equal = 0;
            as_ranks(readers, [&](ThreadPeers& peers) {
                Model expected(peers.rank(), readers), model(peers.rank(), readers);
                expected.fill(7);
                auto const loaded = load(peers, store, {uuid}, model.state(), OnDamage::fail);
                equal += loaded && model == expected ? 1 : 0;
            });
            BOOST_TEST(equal == readers, writers << " wrote, " << readers << " read");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_load_uses_the_memory_for_saves_until_the_first_save) {
    auto const uuid = saved(2, 7);
    NoPeers alone;
    Saver saver(alone, store, small_blocks());
    Model expected(0, 1), model(0, 1);
    expected.fill(7);
    BOOST_TEST(saver.spare_memory().empty());
    must(saver.prepare(model.state()));
    auto const all = saver.spare_memory();
    // Three blocks are read at a time. The memory has room for all of them, for one, for none.
    for (std::size_t const size : {all.size(), std::size_t{8192}, std::size_t{4096}}) {
        std::ranges::fill(all, std::byte{0});
        model.fill(0);
        must(load(alone, store, {uuid}, model.state(), OnDamage::fail, {.spare_memory = all.first(size)}));
        BOOST_TEST((model == expected), size);
        bool const was_used = std::ranges::any_of(all, [](auto byte) { return byte != std::byte{0}; });
        BOOST_TEST(was_used == (size >= 8192), size);
    }
    must(saver.save(about(7), model.state()));
    BOOST_TEST(saver.spare_memory().empty());
    must(saver.finish());
}

BOOST_AUTO_TEST_CASE(an_unchanged_shard_is_one_file_of_several_checkpoints) {
    constexpr int ranks = 2;
    std::vector<std::string> uuids;
    as_ranks(ranks, [&](ThreadPeers& peers) {
        auto options = small_blocks();
        options.share_unchanged = true;
        Saver saver(peers, store, options);
        Model model(peers.rank(), ranks);
        model.fill(1);
        for (std::uint64_t const step : {1u, 2u, 3u, 4u}) {
            // The second rank has the last rows of the matrix.
            if (step == 3 || peers.rank() == 0) model.fill(static_cast<std::int64_t>(step));
            model.step = 0;
            model.vector.assign(model.vector.size(), 0);
            must(saver.save(about(step), model.state()));
            auto const ended = must(saver.finish());
            if (peers.is_chief()) uuids.push_back(ended.at(0).uuid);
        }
    });
    auto const shared_with = [&](std::size_t number) {
        std::map<std::string, std::string> found;
        for (auto const& file : must(store.load_manifest(uuids[number])).files)
            found[file.path] = file.shared_with;
        BOOST_TEST(found["rank-00000.safetensors"] == "");
        return found["rank-00001.safetensors"];
    };
    BOOST_TEST(shared_with(0) == "");
    BOOST_TEST(shared_with(1) == uuids[0]);
    BOOST_TEST(shared_with(2) == "");
    BOOST_TEST(shared_with(3) == uuids[2]);
    must(store.remove(uuids[0]));
    must(store.remove(uuids[2]));
    for (auto const& uuid : {uuids[1], uuids[3]}) must(store.verify_on_disk(uuid));
}

BOOST_AUTO_TEST_CASE(columns_are_loaded_from_a_save_by_rows) {
    auto const uuid = saved(3, 5);
    std::vector<float> column(Model::rows * 2);
    NoPeers alone;
    Box const part{{0, 17}, {Model::rows, 2}};
    State const state{
        NamedTensor::slice("matrix", DataType::float32, {Model::rows, Model::columns}, part, column.data())};
    must(load(alone, store, {uuid}, state, OnDamage::fail));
    for (std::size_t row = 0; row < Model::rows; ++row) {
        BOOST_TEST(column[row * 2] == static_cast<float>(5 + row * Model::columns + 17));
        BOOST_TEST(column[row * 2 + 1] == static_cast<float>(5 + row * Model::columns + 18));
    }
}

BOOST_AUTO_TEST_CASE(a_save_stores_its_description_and_leaves_no_temporary_files) {
    auto const uuid = saved(2, 9);
    auto const manifest = must(store.load_manifest(uuid));
    BOOST_TEST(manifest.run == "7.0.0");
    BOOST_TEST(manifest.steps_completed == 9u);
    BOOST_TEST(manifest.world_size == 2);
    BOOST_TEST(manifest.tensors.size() == 3u);
    auto const names = must(list_directory(store.path_of(uuid)));
    BOOST_TEST(names == (std::vector<std::string>{"manifest", "metadata.json", "rank-00000.safetensors",
                                                  "rank-00001.safetensors"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_damaged_shard_is_named_and_an_older_checkpoint_is_loaded_on_request) {
    auto const old = saved(2, 1), newer = saved(2, 2);
    auto const shard = store.path_of(newer) / "rank-00001.safetensors";
    auto bytes = must(read_file(shard));
    bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
    must(write_file(shard, bytes));
    auto const error = must_fail(store.verify_on_disk(newer));
    BOOST_TEST((error.code == codes::checkpoint_damaged));
    BOOST_TEST(error.message.find("'rank-00001.safetensors'") != std::string::npos, error.message);

    std::atomic<int> refused = 0, older = 0;
    as_ranks(3, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 3), expected(peers.rank(), 3);
        expected.fill(1);
        auto const strict = load(peers, store, {newer, old}, model.state(), OnDamage::fail);
        refused += !strict && strict.error().code == codes::checkpoint_damaged ? 1 : 0;
        auto const loaded = load(peers, store, {newer, old}, model.state(), OnDamage::take_older);
        older += loaded && *loaded && (*loaded)->manifest.uuid == old && (*loaded)->passed_over.size() == 1 &&
                         model == expected
                     ? 1
                     : 0;
    });
    BOOST_TEST(refused == 3);
    BOOST_TEST(older == 3);
}

BOOST_AUTO_TEST_CASE(a_damaged_shard_that_is_not_needed_is_ignored) {
    auto const uuid = saved(2, 3);
    must(remove_tree(store.path_of(uuid) / "rank-00001.safetensors"));
    NoPeers alone;
    Model model(0, 2), expected(0, 2);
    expected.fill(3);
    auto state = model.state();
    state.resize(1);  // the first rank's rows
    must(load(alone, store, {uuid}, state, OnDamage::fail));
    BOOST_TEST((model.matrix == expected.matrix));
}

BOOST_AUTO_TEST_CASE(an_empty_list_loads_no_checkpoint) {
    NoPeers alone;
    Model model(0, 1);
    BOOST_TEST(!must(load(alone, store, {}, model.state(), OnDamage::fail)).has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_or_different_tensor_is_an_error) {
    auto const uuid = saved(1, 3);
    NoPeers alone;
    std::vector<float> data(10);
    auto const refusal = [&](NamedTensor const& tensor) {
        auto const error = must_fail(load(alone, store, {uuid}, {tensor}, OnDamage::take_older));
        BOOST_TEST((error.code == codes::misuse));
        return error.message;
    };
    BOOST_TEST(refusal(NamedTensor::whole("w", DataType::float32, {10}, data.data())) ==
               "checkpoint " + uuid + " has no tensor 'w'");
    BOOST_TEST(refusal(NamedTensor::whole("vector", DataType::float32, {10}, data.data())) ==
               "checkpoint " + uuid + " has tensor 'vector' as F64 [1000], not as F32 [10]");
}

BOOST_AUTO_TEST_CASE(several_saves_are_in_flight_and_the_time_of_waiting_is_reported) {
    std::atomic<int> ended = 0, waited = 0, in_flight_at_last = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Saver saver(peers, store, small_blocks());
        Model model(peers.rank(), 2);
        must(saver.prepare(model.state()));
        for (std::uint64_t step = 1; step <= 20; ++step) {
            model.fill(static_cast<std::int64_t>(step));
            auto const begun = must(saver.save(about(step), model.state()));
            ended += static_cast<int>(begun.ended.size());
            waited += begun.waited.count() > 0 ? 1 : 0;
        }
        in_flight_at_last = static_cast<int>(saver.in_flight());
        ended += static_cast<int>(must(saver.finish()).size());
    });
    BOOST_TEST(in_flight_at_last <= 2);
    BOOST_TEST(ended == 40);
    auto const uuids = must(store.list());
    BOOST_TEST(uuids.size() == 20u);
    for (auto const& uuid : uuids) must(store.verify_on_disk(uuid));
}

BOOST_AUTO_TEST_CASE(poll_commits_a_save_that_all_ranks_have_written) {
    std::atomic<int> committed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Saver saver(peers, store, small_blocks());
        Model model(peers.rank(), 2);
        must(saver.save(about(1), model.state()));
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        // Both ranks get the outcome from the same call.
        while (saver.in_flight() != 0 && std::chrono::steady_clock::now() < limit) {
            for (auto const& outcome : must(saver.poll())) committed += outcome.error ? 0 : 1;
            std::this_thread::yield();
        }
    });
    BOOST_TEST(committed == 2);
}

BOOST_AUTO_TEST_CASE(a_save_that_may_not_commit_leaves_no_files) {
    std::atomic<int> refused = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto options = small_blocks();
        options.may_commit = [] { return Status(Error{codes::superseded, "a newer run continues"}); };
        Saver saver(peers, store, options);
        Model model(peers.rank(), 2);
        must(saver.save(about(1), model.state()));
        for (auto const& outcome : must(saver.finish()))
            refused += outcome.error && outcome.error->code == codes::superseded ? 1 : 0;
    });
    BOOST_TEST(refused == 2);
    BOOST_TEST(must(store.list()).empty());
}

BOOST_AUTO_TEST_CASE(a_rank_that_cannot_write_is_an_error_on_all_ranks_and_the_next_save_succeeds) {
    must(make_directories(directory / "checkpoints"));
    must(write_file(directory / "file", ""));
    SharedFsStore nowhere(directory / "file" / "below");  // the store of the second rank
    std::atomic<int> failed = 0, well = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Model model(peers.rank(), 2);
        {
            Saver saver(peers, peers.is_chief() ? store : nowhere, small_blocks());
            must(saver.save(about(1), model.state()));
            for (auto const& outcome : must(saver.finish())) failed += outcome.error ? 1 : 0;
        }
        Saver saver(peers, store, small_blocks());
        must(saver.save(about(2), model.state()));
        for (auto const& outcome : must(saver.finish())) well += outcome.error ? 0 : 1;
    });
    BOOST_TEST(failed == 2);
    BOOST_TEST(well == 2);
    BOOST_TEST(must(store.list()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_write_that_exceeds_its_time_limit_is_the_same_error_on_all_ranks) {
    std::latch release(1), open(0);
    BlockedStore blocked(store, release, open);  // the store of the second rank
    std::atomic<int> timed_out = 0, in_flight = 0, committed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto options = small_blocks();
        options.in_flight_max = 1;
        options.write_limit = std::chrono::milliseconds(peers.is_chief() ? 30'000 : 100);
        Saver saver(peers, peers.is_chief() ? static_cast<Store&>(store) : blocked, options);
        Model model(peers.rank(), 2);
        must(saver.save(about(1), model.state()));
        auto const error = must_fail(saver.save(about(2), model.state()));
        timed_out += error.code == codes::timed_out &&
                     error.message == "'rank-00001.safetensors' was not written within 0 s";
        in_flight += static_cast<int>(saver.in_flight());
        if (!peers.is_chief()) release.count_down();
        committed += finish(saver);
    });
    BOOST_TEST(timed_out == 2);
    BOOST_TEST(in_flight == 2);  // one for each rank
    BOOST_TEST(committed == 2);
}

BOOST_AUTO_TEST_CASE(saves_that_ended_in_a_save_that_fails_are_told_by_the_next_call) {
    NoPeers alone;
    Saver saver(alone, store, small_blocks());
    Model model(0, 1);
    for (bool const is_next_a_save : {true, false}) {
        auto const uuid = must(saver.save(about(1), model.state())).uuid;
        must(saver.save(about(2), model.state()));
        auto invalid = about(3);
        invalid.metadata = Json::array();
        must_fail(saver.save(invalid, model.state()));  // first waits until the oldest save has ended
        auto const ended =
            is_next_a_save ? must(saver.save(about(4), model.state())).ended : must(saver.finish());
        BOOST_REQUIRE(!ended.empty());
        BOOST_TEST(ended[0].uuid == uuid);
        must(saver.finish());
    }
}

BOOST_AUTO_TEST_CASE(a_commit_that_exceeds_its_time_limit_is_the_same_error_on_all_ranks) {
    std::latch release(1);
    std::atomic<int> timed_out = 0, committed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto options = small_blocks();
        options.write_limit = std::chrono::milliseconds(peers.is_chief() ? 500 : 30'000);
        options.may_commit = [&] {
            release.wait();
            return Status(Ok{});
        };
        Saver saver(peers, store, options);
        Model model(peers.rank(), 2);
        must(saver.save(about(1), model.state()));
        auto const error = must_fail(saver.finish());
        timed_out +=
            error.code == codes::timed_out && error.message.ends_with("was not committed within 0 s");
        if (peers.is_chief()) release.count_down();
        committed += finish(saver);
    });
    BOOST_TEST(timed_out == 2);
    BOOST_TEST(committed == 2);
}

BOOST_AUTO_TEST_CASE(a_comparison_that_exceeds_its_time_limit_fails_the_next_save_on_all_ranks) {
    std::latch release(1), open(0);
    BlockedStore blocked(store, open, release);  // the store of the second rank
    std::atomic<int> failed = 0, committed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto options = small_blocks();
        options.share_unchanged = true;
        options.write_limit = std::chrono::milliseconds(peers.is_chief() ? 30'000 : 500);
        Saver saver(peers, peers.is_chief() ? static_cast<Store&>(store) : blocked, options);
        Model model(peers.rank(), 2);
        must(saver.save(about(1), model.state()));
        committed += finish(saver);
        must(saver.save(about(2), model.state()));
        must(saver.save(about(3), model.state()));
        if (!peers.is_chief()) release.count_down();
        while (saver.in_flight() != 0) {
            for (auto const& outcome : must(saver.poll()))
                (outcome.error && outcome.error->code == codes::timed_out ? failed : committed) += 1;
        }
    });
    BOOST_TEST(committed == 4);
    BOOST_TEST(failed == 2);
}

BOOST_AUTO_TEST_CASE(files_of_the_chief_become_files_of_the_checkpoint) {
    auto const files = directory / "files";
    must(make_directories(files / "code" / "empty"));
    must(write_file(files / "code/train.py", "print()"));
    must(write_file(files / "metadata.json", "not that of the checkpoint"));
    NoPeers alone;
    Saver saver(alone, store, small_blocks());
    Model model(0, 1);
    auto const save = [&] {
        auto description = about(1);
        description.directory = files;
        must(saver.save(description, model.state()));
        return must(saver.finish()).at(0);
    };
    auto const saved = save();
    BOOST_REQUIRE(!saved.error);
    auto const whole = must(store.fetch_and_verify(saved.uuid));
    BOOST_TEST(must(read_file(whole.directory / "code/train.py")) == "print()");
    BOOST_TEST((whole.manifest.directories == std::vector<std::string>{"code", "code/empty"}));
    must(load(alone, store, {saved.uuid}, model.state(), OnDamage::fail));
    // A file that takes the name of the rank's own ends the save, and nothing of it stays.
    must(write_file(files / "rank-00000.safetensors", ""));
    auto const taken = save();
    BOOST_REQUIRE(taken.error.has_value());
    BOOST_TEST(!path_exists(store.path_of(taken.uuid)));
}

BOOST_AUTO_TEST_CASE(a_store_without_owners_of_files_knows_its_own_checkpoints_by_the_journals) {
    auto const uuid = saved(1, 7);
    auto const manifest = must(store.load_manifest(uuid));
    BOOST_TEST(must(store.is_own(manifest)));  // its files have owners, which load_manifest() has checked
    std::latch open(0);
    BlockedStore bucket(store, open, open);
    BOOST_TEST(!must(bucket.is_own(manifest)));
    for (auto const& [recorded, is_own] : {std::pair(manifest.sha256, true), std::pair(uuid, false)}) {
        bucket.set_recorded_sums(
            [&](std::string const&, std::string const&) { return Result(std::vector{recorded}); });
        BOOST_TEST(must(bucket.is_own(manifest)) == is_own);
    }
}

BOOST_AUTO_TEST_CASE(ranks_whose_saves_differ_get_an_error) {
    std::atomic<int> told = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Saver saver(peers, store, small_blocks());
        Model model(peers.rank(), 2);
        auto const steps = saver.save(about(static_cast<std::uint64_t>(peers.rank())), model.state());
        told += !steps && steps.error().code == codes::misuse ? 1 : 0;
        auto state = model.state();
        if (peers.rank() == 1) state[0].data = nullptr;
        auto const data = saver.save(about(1), state);
        told += !data && data.error().message == "tensor 'matrix' has no data" ? 1 : 0;
        must(saver.save(about(1), model.state()));
        told += must(saver.finish()).size() == 1 ? 1 : 0;
    });
    BOOST_TEST(told == 6);
}

BOOST_AUTO_TEST_SUITE_END()
