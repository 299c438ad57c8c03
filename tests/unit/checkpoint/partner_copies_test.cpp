// Copies of snapshots in the memory of other nodes, with ranks that are threads. Each node has a directory.
#include "partner_copies.hpp"

#include <det/checkpoint/memory_snapshots.hpp>
#include <det/foundation/files.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <unistd.h>

#include "saved_model.hpp"

using namespace det;
using namespace det::checkpoint;

namespace partner_copies_test {

namespace fs = std::filesystem;

/// Messages between threads. They can be stopped, as a slow network stops them, and fail.
class ThreadMessages {
public:
    Status transfer(int self, std::optional<RankMessages::Outgoing> const& out,
                    std::optional<RankMessages::Incoming> const& in) {
        std::unique_lock lock(mutex_);
        auto const limit = std::chrono::seconds(30);
        if (!changed_.wait_for(lock, limit, [&] { return !is_stopped_; }))
            return Error{codes::transport, "stopped for too long"};
        if (fails_) return Error{codes::transport, "no network"};
        if (out) messages_[{self, out->to}].emplace_back(out->bytes.begin(), out->bytes.end());
        changed_.notify_all();
        if (!in) return Ok{};
        auto& queue = messages_[{in->from, self}];
        if (!changed_.wait_for(lock, limit, [&] { return !queue.empty(); }))
            return Error{codes::transport, "no message"};
        if (queue.front().size() != in->bytes.size())
            return Error{codes::transport, "a message of another size"};
        std::ranges::copy(queue.front(), in->bytes.begin());
        queue.pop_front();
        return Ok{};
    }
    void stop(bool is_stopped) {
        std::lock_guard const lock(mutex_);
        is_stopped_ = is_stopped;
        changed_.notify_all();
    }
    void fail() {
        std::lock_guard const lock(mutex_);
        fails_ = true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages_;
    bool is_stopped_ = false;
    bool fails_ = false;
};

class RankOfThread final : public RankMessages {
public:
    RankOfThread(ThreadMessages& all, int rank) : all_(all), rank_(rank) {}
    Status transfer(std::optional<Outgoing> out, std::optional<Incoming> in) override {
        return all_.transfer(rank_, out, in);
    }

private:
    ThreadMessages& all_;
    int rank_;
};

constexpr int ranks_per_node = 2;

struct Model {
    std::vector<double> own = std::vector<double>(20'000);
    double shared = 0;
    int rank, size;

    Model(int the_rank, int the_size) : rank(the_rank), size(the_size) {}
    void fill(std::uint64_t seed) {
        std::iota(own.begin(), own.end(), static_cast<double>(seed * 100 + static_cast<unsigned>(rank)));
        shared = static_cast<double>(seed);
    }
    State state() {
        auto const ranks = static_cast<std::uint64_t>(size);
        return {NamedTensor::slice("own", DataType::float64, {ranks, own.size()},
                                   {{static_cast<std::uint64_t>(rank), 0}, {1, own.size()}}, own.data()),
                NamedTensor::whole("shared", DataType::float64, {}, &shared)};
    }
    bool is_filled_with(std::uint64_t seed) const {
        Model expected(rank, size);
        expected.fill(seed);
        return own == expected.own && shared == expected.shared;
    }
};

/// The ranks of a run: rank r is on nodes[r / 2].
struct Fixture {
    TemporaryDirectory directory;
    std::mutex mutex;
    std::vector<std::string> warnings;
    std::uint64_t available_bytes = std::uint64_t{1} << 40;
    std::uint64_t node_bytes = 0;  // if not 0: the memory of a node, of which its files leave the rest
    std::function<void(int rank)> when_connected = [](int) {};

    fs::path shm(int node) const {
        auto const path = directory / ("node" + std::to_string(node));
        must(make_directories(path));
        return path;
    }
    std::vector<std::string> files(int node) const {
        auto const found = find_memory_directories({shm(node), "100", "7.3", ""});
        return found.empty() ? std::vector<std::string>() : must(list_directory(found[0]));
    }
    std::uint64_t left_bytes(int node) const {
        if (node_bytes == 0) return available_bytes;
        std::uint64_t used = 0;
        for (auto const& name : files(node)) {
            std::error_code ignored;  // a thread may rename it
            auto const size = fs::file_size(file(node, name), ignored);
            used += ignored ? 0 : size;
        }
        return node_bytes - std::min(node_bytes, used);
    }
    bool has_remains_of_fetching(int node) const {
        return std::ranges::any_of(files(node), [](auto const& name) { return name.starts_with("fetched"); });
    }
    fs::path file(int node, std::string const& name) const {
        return find_memory_directories({shm(node), "100", "7.3", ""}).at(0) / name;
    }
    void damage(int node, std::string const& name) const {
        UniqueFd const opened(::open(file(node, name).c_str(), O_RDWR));
        BOOST_REQUIRE(::pwrite(opened.get(), "damage", 6, 9000) == 6);
    }
    void lose(int node) const { must(remove_tree(shm(node))); }

    void as_run(std::uint32_t run, std::vector<int> const& nodes,
                std::function<void(Peers&, MemorySnapshots&, ThreadMessages&)> const& body) {
        ThreadMessages messages;
        as_ranks(static_cast<int>(nodes.size()) * ranks_per_node, [&](ThreadPeers& peers) {
            MemorySnapshotOptions options;
            auto const node = peers.rank() / ranks_per_node;
            options.place = {shm(nodes[static_cast<std::size_t>(node)]), "100", "7.3", ""};
            options.run = run;
            options.node = node;
            options.is_first_of_node = peers.rank() % ranks_per_node == 0;
            options.available_bytes = [this, where = nodes[static_cast<std::size_t>(node)]] {
                return left_bytes(where);
            };
            options.open_messages = [this, &messages, rank = peers.rank()]() {
                when_connected(rank);
                return Result<std::unique_ptr<RankMessages>>(std::make_unique<RankOfThread>(messages, rank));
            };
            options.warn = [this](std::string const& warning) {
                std::lock_guard const lock(mutex);
                warnings.push_back(warning);
            };
            MemorySnapshots snapshots(peers, options);
            body(peers, snapshots, messages);
            must(peers.allgather(""));
        });
    }
    static bool keep(Peers& peers, MemorySnapshots& snapshots, std::uint64_t step) {
        Model model(peers.rank(), peers.size());
        model.fill(step);
        auto const kept = must(snapshots.keep(step, Json{{"step", step}}, model.state()));
        snapshots.finish();
        must(peers.allgather(""));  // all have
        return kept;
    }
    void keep(std::uint32_t run, std::vector<int> const& nodes, std::vector<std::uint64_t> const& steps) {
        std::atomic<int> kept = 0;
        as_run(run, nodes, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages&) {
            for (auto const step : steps) kept += keep(peers, snapshots, step) ? 1 : 0;
        });
        BOOST_TEST(kept == std::ssize(steps) * std::ssize(nodes) * ranks_per_node);
    }
    /// The steps of the state that all ranks load; 0 if there is none. Afterwards they keep these steps.
    std::uint64_t load(std::uint32_t run, std::vector<int> const& nodes,
                       std::vector<std::uint64_t> const& then = {}) {
        std::atomic<std::uint64_t> steps = 0;
        std::atomic<int> equal = 0;
        as_run(run, nodes, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages&) {
            Model model(peers.rank(), peers.size());
            auto const found = must(snapshots.load(model.state(), 0));
            auto const loaded = found ? found->loaded.manifest.steps_completed : 0;
            if (peers.is_chief()) steps = loaded;
            equal += !found ||
                     (model.is_filled_with(loaded) && found->loaded.manifest.metadata->at("step") == loaded);
            for (auto const step : then) must_be(keep(peers, snapshots, step), "the step is kept");
        });
        BOOST_TEST(equal == std::ssize(nodes) * ranks_per_node);
        return steps;
    }
};

std::vector<RankPlace> places(std::vector<std::string> const& switches, int per_node = 1) {
    std::vector<RankPlace> found;
    for (std::size_t node = 0; node < switches.size(); ++node) {
        for (int i = 0; i < per_node; ++i) found.push_back({static_cast<int>(node), switches[node]});
    }
    return found;
}

std::vector<int> partners_of(std::vector<RankPlace> const& ranks) {
    auto const partners = choose_partners(ranks);
    BOOST_REQUIRE(partners.has_value());
    return *partners;
}

}  // namespace partner_copies_test

BOOST_FIXTURE_TEST_SUITE(partner_copies_test, Fixture)

BOOST_AUTO_TEST_CASE(the_partner_is_the_same_rank_of_another_node_under_another_switch) {
    BOOST_TEST(partners_of(places({"", "", ""}, 2)) == (std::vector{2, 3, 4, 5, 0, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(partners_of(places({"a", "a"})) == (std::vector{1, 0}), boost::test_tools::per_element());
    BOOST_CHECK(!choose_partners(places({"a"}, 4)));
    BOOST_CHECK(!choose_partners({{0, ""}, {0, ""}, {1, ""}}));
    BOOST_CHECK(!choose_partners({}));
    for (auto const& switches : std::vector<std::vector<std::string>>{
             {"a", "a", "b", "b"}, {"a", "b", "a", "b"}, {"a", "b", "c"}, {"a", "a", "a", "b", "c", "b"}}) {
        auto const partners = partners_of(places(switches));
        std::set<int> all;
        for (std::size_t node = 0; node < switches.size(); ++node) {
            BOOST_TEST(switches[static_cast<std::size_t>(partners[node])] != switches[node]);
            all.insert(partners[node]);
        }
        BOOST_TEST(all.size() == switches.size());
    }
    // Three of four nodes have one switch: only one of them finds a partner elsewhere, and none is its own.
    auto const partners = partners_of(places({"a", "a", "a", "b"}));
    int elsewhere = 0;
    for (int node = 0; node < 4; ++node) {
        BOOST_TEST(partners[static_cast<std::size_t>(node)] != node);
        elsewhere += (node == 3) != (partners[static_cast<std::size_t>(node)] == 3) ? 1 : 0;
    }
    BOOST_TEST(elsewhere == 2);
}

BOOST_AUTO_TEST_CASE(each_node_has_the_newest_two_of_its_ranks_and_of_another_nodes_ranks) {
    keep(1, {0, 1, 2}, {10, 20, 30});
    BOOST_TEST(files(1) == (std::vector<std::string>{"1.20.0of6", "1.20.1of6", "1.20.2of6", "1.20.3of6",
                                                     "1.30.0of6", "1.30.1of6", "1.30.2of6", "1.30.3of6"}),
               boost::test_tools::per_element());
    BOOST_TEST(files(0).size() == 8u);
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_newest_snapshot_is_loaded_after_any_one_node_was_lost) {
    for (int lost = 0; lost < 3; ++lost) {
        for (int node = 0; node < 4; ++node) lose(node);
        keep(1, {0, 1, 2}, {10, 20, 30});
        lose(lost);
        std::vector<int> nodes{0, 1, 2, 3};
        std::erase(nodes, lost);
        BOOST_TEST(load(2, nodes, {40, 50, 60}) == 30u, lost);
        // The run that followed has kept copies too, and nothing of the run before is left.
        for (auto const node : nodes) BOOST_TEST(files(node).size() == 8u);
        lose(3);
        std::erase(nodes, 3);
        nodes.push_back(lost);
        BOOST_TEST(load(3, nodes) == 60u, lost);
    }
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(two_nodes_that_are_neighbours_in_the_ring_are_too_much) {
    keep(1, {0, 1, 2}, {10, 20});
    lose(0);
    lose(1);
    BOOST_TEST(load(2, {2, 3, 4}) == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_with_another_number_of_ranks_gets_the_files_that_its_nodes_lack) {
    keep(1, {0, 1, 2}, {10, 20});
    lose(1);
    as_run(2, {0, 2}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages&) {
        std::vector<double> all(6 * 20'000);
        State const state = {NamedTensor::whole("own", DataType::float64, {6, 20'000}, all.data())};
        auto const found = must(snapshots.load(state, 0));
        must_be(found && found->loaded.manifest.steps_completed == 20, "step 20 is loaded");
        for (int rank = 0; rank < 6; ++rank) {
            Model expected(rank, 6);
            expected.fill(20);
            auto const part = std::span(all).subspan(static_cast<std::size_t>(rank) * 20'000, 20'000);
            must_be(std::ranges::equal(part, expected.own), "the part of each rank is as it was");
        }
        must(peers.allgather(""));
    });
    available_bytes = 0;
    lose(0);
    BOOST_TEST(load(2, {0, 2, 3}) == 0u);
    BOOST_REQUIRE(!warnings.empty());
    BOOST_TEST(warnings[0].find("MiB are free") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_is_fetched_is_listed_and_loaded_by_its_name_on_all_nodes) {
    keep(1, {0, 1, 2, 3}, {10, 20});
    lose(2);
    std::atomic<int> loaded = 0;
    as_run(2, {0, 1, 3, 4}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages&) {
        must_be(snapshots.list(0).empty(), "no snapshot is complete");
        must(peers.allgather(""));
        must(snapshots.fetch(0));
        must_be(snapshots.list(0) == std::vector<std::string>{"memory-1-20"}, "it is listed");
        auto const manifest = must(snapshots.load_manifest("memory-1-20"));
        must_be(manifest.tensors.size() == 2, "it has two tensors");
        Model model(peers.rank(), peers.size());
        must(snapshots.load_named(model.state(), "memory-1-20"));
        loaded += model.is_filled_with(20) ? 1 : 0;
        must(snapshots.fetch(0));  // nothing is left to do
    });
    BOOST_TEST(loaded == 8);
    for (auto const node : {0, 1, 3, 4}) BOOST_TEST(files(node).size() >= 8u);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_replaced_by_its_copy_and_else_passed_over) {
    keep(1, {0, 1}, {10, 20});
    damage(0, "1.20.1of4");
    BOOST_TEST(load(2, {0, 1}) == 20u);
    keep(3, {0, 1}, {30, 40});
    damage(0, "3.40.1of4");
    damage(1, "3.40.1of4");
    BOOST_TEST(load(4, {0, 1}) == 30u);
    BOOST_TEST(!has_remains_of_fetching(0));
    BOOST_TEST(!has_remains_of_fetching(1));
    lose(0);
    BOOST_TEST(load(4, {2, 1}) == 30u);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_off_is_not_sent) {
    keep(1, {0, 1, 2}, {10, 20});
    fs::copy_file(file(1, "1.20.0of6"), file(2, "1.20.0of6"));
    fs::resize_file(file(1, "1.20.0of6"), 100'000);
    lose(0);
    BOOST_TEST(load(2, {3, 1, 2}) == 20u);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_gone_when_it_is_to_be_sent_is_passed_over) {
    keep(1, {0, 1}, {10, 20});
    lose(0);
    when_connected = [&](int rank) {
        if (rank == 2) BOOST_CHECK(fs::remove(file(1, "1.20.0of4")));
    };
    BOOST_TEST(load(2, {2, 1}) == 10u);
    BOOST_TEST(!has_remains_of_fetching(2));
}

BOOST_AUTO_TEST_CASE(a_node_with_just_enough_memory_gets_the_files_of_both_its_ranks) {
    for (std::uint32_t run = 1; run < 20; run += 2) {
        node_bytes = 0;
        keep(run, {0, 1}, {10, 20});
        lose(0);
        node_bytes = 2 * 165'000;
        BOOST_TEST(load(run + 1, {0, 1}) == 20u);
        lose(0);
        lose(1);
    }
    BOOST_TEST(warnings.empty());
}

// Each node gets the files of all ranks, to load them. They leave no memory for the files of the next run.
BOOST_AUTO_TEST_CASE(files_that_were_fetched_give_their_memory_to_the_next_snapshots) {
    keep(1, {0, 1, 2, 3}, {10, 20});
    lose(2);
    node_bytes = 12 * 165'000;
    as_run(2, {0, 1, 3, 4}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages&) {
        must(snapshots.fetch(0));
        Model model(peers.rank(), peers.size());
        must(snapshots.load_named(model.state(), "memory-1-20"));
        must(peers.allgather(""));
        if (peers.is_chief()) must_be(files(3).size() == 12, "12 files are there");
        must(peers.allgather(""));
        must_be(keep(peers, snapshots, 30), "step 30 is kept");
        must_be(keep(peers, snapshots, 40), "step 40 is kept");
    });
    for (auto const node : {0, 1, 3, 4}) BOOST_TEST(files(node).size() == 8u);
    BOOST_TEST(warnings.empty());
    lose(1);
    node_bytes = 0;
    BOOST_TEST(load(3, {0, 2, 3, 4}) == 40u);
}

BOOST_AUTO_TEST_CASE(a_rank_exchanges_one_text_per_snapshot_when_no_memory_is_needed) {
    std::atomic<int> gathered = 0, reduced = 0;
    struct CountingPeers final : Peers {
        CountingPeers(Peers& all, std::atomic<int>& gathers, std::atomic<int>& reductions)
            : peers(all), gathered(gathers), reduced(reductions) {}
        int rank() const override { return peers.rank(); }
        int size() const override { return peers.size(); }
        Result<std::vector<std::string>> gather(std::string value) override {
            ++gathered;
            return peers.gather(std::move(value));
        }
        Result<std::vector<std::string>> allgather(std::string value) override {
            ++gathered;
            return peers.allgather(std::move(value));
        }
        Result<std::string> broadcast(std::string value) override {
            return peers.broadcast(std::move(value));
        }
        Status allreduce_min(std::span<std::int64_t> values) override {
            ++reduced;
            return peers.allreduce_min(values);
        }
        Peers& peers;
        std::atomic<int>& gathered;
        std::atomic<int>& reduced;
    };
    ThreadMessages messages;
    as_ranks(2, [&](ThreadPeers& peers) {
        CountingPeers counting(peers, gathered, reduced);
        MemorySnapshotOptions options;
        options.place = {shm(peers.rank()), "100", "7.3", ""};
        options.run = 1;
        options.node = peers.rank();
        options.open_messages = [&messages, rank = peers.rank()]() {
            return Result<std::unique_ptr<RankMessages>>(std::make_unique<RankOfThread>(messages, rank));
        };
        MemorySnapshots snapshots(counting, options);
        for (std::uint64_t const step : {10, 20}) must_be(keep(peers, snapshots, step), "the step is kept");
        if (peers.is_chief()) gathered = reduced = 0;
        must(peers.allgather(""));
        for (std::uint64_t const step : {30, 40, 50})
            must_be(keep(peers, snapshots, step), "the step is kept");
    });
    BOOST_TEST(gathered == 2 * 3);
    BOOST_TEST(reduced == 0);
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_not_kept_while_the_last_one_is_being_copied) {
    as_run(1, {0, 1}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages& messages) {
        must_be(keep(peers, snapshots, 10), "step 10 is kept");
        if (peers.is_chief()) messages.stop(true);
        must(peers.allgather(""));
        Model model(peers.rank(), peers.size());
        model.fill(20);
        must_be(must(snapshots.keep(20, Json{{"step", 20}}, model.state())), "step 20 is kept");
        must_be(!must(snapshots.keep(21, Json{{"step", 21}}, model.state())), "step 21 is not kept");
        must_be(!snapshots.is_off(), "keeping goes on");
        must(peers.allgather(""));
        if (peers.is_chief()) messages.stop(false);
        snapshots.finish();
        must(peers.allgather(""));
        model.fill(30);
        must_be(must(snapshots.keep(30, Json{{"step", 30}}, model.state())), "step 30 is kept");
    });
    BOOST_TEST(warnings.empty());
    lose(0);
    BOOST_TEST(load(2, {1, 2}) >= 20u);
}

BOOST_AUTO_TEST_CASE(the_snapshot_before_is_loaded_if_a_node_is_lost_before_the_copy_is_complete) {
    as_run(1, {0, 1}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages& messages) {
        keep(peers, snapshots, 10);
        keep(peers, snapshots, 20);
        if (peers.is_chief()) messages.fail();
        must(peers.allgather(""));
        keep(peers, snapshots, 30);
    });
    lose(0);
    BOOST_TEST(load(2, {2, 1}) == 20u);
}

BOOST_AUTO_TEST_CASE(without_messages_each_rank_goes_on_to_keep_its_own) {
    as_run(1, {0, 1}, [&](Peers& peers, MemorySnapshots& snapshots, ThreadMessages& messages) {
        keep(peers, snapshots, 10);
        if (peers.is_chief()) messages.fail();
        must(peers.allgather(""));
        for (std::uint64_t const step : {20, 30, 40, 50})
            must_be(keep(peers, snapshots, step), "the step is kept");
    });
    BOOST_TEST(files(0).size() == 4u);
    BOOST_REQUIRE(!warnings.empty());
    BOOST_TEST(warnings[0].find("not copied to other nodes any more: no network") != std::string::npos,
               warnings[0]);
    BOOST_TEST(load(2, {0, 1}) == 50u);
}

BOOST_AUTO_TEST_CASE(too_little_memory_for_copies_ends_only_these) {
    available_bytes = 2 * 2 * 170'000;  // two files of two ranks, but not twice as many
    keep(1, {0, 1}, {10, 20, 30});
    BOOST_TEST(files(0) == (std::vector<std::string>{"1.20.0of4", "1.20.1of4", "1.30.0of4", "1.30.1of4"}),
               boost::test_tools::per_element());
    BOOST_REQUIRE(!warnings.empty());
    BOOST_TEST(warnings[0].find("those of another node need") != std::string::npos, warnings[0]);
}

BOOST_AUTO_TEST_SUITE_END()
