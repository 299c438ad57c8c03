// bench-collectives DIRECTORY DET_WORKER OPENMPI_WORKER MPICH_ROOT [ROWS]
// Prints only rows whose name begins with ROWS. MPICH_ROOT contains usr/bin/mpiexec.hydra and the worker.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>

#include "../row.hpp"
#include "cache_probe.hpp"
#include "failure.hpp"
#include "team.hpp"

namespace {

using namespace det::bench;
using What = Sample::What;

struct Size {
    std::string_view name;
    std::uint64_t bytes;
    std::uint32_t iterations;
};
constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr Size sizes[] = {
    {"4B", 4, 5000},           {"64B", 64, 5000},        {"1KiB", KiB, 5000},   {"8KiB", 8 * KiB, 3000},
    {"64KiB", 64 * KiB, 1500}, {"1MiB", MiB, 150},       {"8MiB", 8 * MiB, 15}, {"25MiB", 25 * MiB, 6},
    {"64MiB", 64 * MiB, 3},    {"256MiB", 256 * MiB, 2},
};
constexpr Size crowded_sizes[] = {
    {"4B", 4, 1500},   {"1KiB", KiB, 1000},  {"64KiB", 64 * KiB, 300},
    {"1MiB", MiB, 40}, {"8MiB", 8 * MiB, 8}, {"64MiB", 64 * MiB, 2},
};

constexpr int pairs_per_row = 21;  // plus one warm-up pair

struct Programs {
    std::string directory, det, openmpi, mpich_root;
};

using Teams = std::vector<std::unique_ptr<Team>>;

class Launchers {
public:
    explicit Launchers(Programs programs) : programs_(std::move(programs)) {}

    std::unique_ptr<Team> det(int ranks) { return make("det", ranks, {programs_.det}, true); }

    /// Without this malloc allocates pages from the kernel and returns them in each call of a large
    /// allreduce.
    std::unique_ptr<Team> openmpi(std::string const& name, int ranks,
                                  std::vector<std::string> const& options) {
        std::vector<std::string> command{"mpiexec",   "--allow-run-as-root",
                                         "--bind-to", "none",
                                         "-n",        std::to_string(ranks),
                                         "-x",        "MALLOC_MMAP_MAX_=0",
                                         "-x",        "MALLOC_TRIM_THRESHOLD_=8589934592",
                                         "-x",        "MALLOC_TOP_PAD_=268435456"};
        if (ranks > 2) command.push_back("--oversubscribe");
        command.insert(command.end(), options.begin(), options.end());
        command.push_back(programs_.openmpi);
        return make(name, ranks, std::move(command), false);
    }
    std::unique_ptr<Team> mpich(int ranks) {
        auto const& root = programs_.mpich_root;
        return make("mpich", ranks,
                    {root + "/usr/bin/mpiexec.hydra", "-launcher", "fork", "-bind-to", "none", "-n",
                     std::to_string(ranks), root + "/worker"},
                    false);
    }

private:
    std::unique_ptr<Team> make(std::string const& name, int ranks, std::vector<std::string> command,
                               bool each) {
        return std::make_unique<Team>(name, ranks, std::move(command), each,
                                      fmt::format("{}/{}-{}", programs_.directory, name, teams_++));
    }

    Programs programs_;
    int teams_ = 0;
};

std::vector<std::string> const ob1{"--mca", "pml", "ob1", "--mca", "btl", "self,vader"};
std::vector<std::string> const ucx{
    "--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any"};

std::vector<std::string> with_algorithm(std::vector<std::string> options, std::string const& number) {
    for (auto const* each :
         {"--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm"})
        options.emplace_back(each);
    options.push_back(number);
    return options;
}

constexpr auto rabenseifner = "6", segmented_ring = "5";

/// Whether the cache round trip between the two cores is fast now. Pairs measured while it is slow are
/// discarded.
bool is_quiet() {
    constexpr double limit_ns = 280;
    return cache_round_trip_ns() < limit_ns;
}

/// Waits until the cache round trip is fast. A virtual machine may need seconds of load for that. After a
/// time limit the row is measured anyway.
class QuietDeadline {
public:
    bool has_ended() const { return std::chrono::steady_clock::now() > ends_; }
    void wait_for_quiet() const {
        while (!is_quiet() && !has_ended()) {
        }
    }

private:
    std::chrono::steady_clock::time_point ends_ = std::chrono::steady_clock::now() + std::chrono::seconds(20);
};

/// Measures both sides directly after each other, with a check of the cache round trip before and after.
class Measurement {
public:
    Measurement(Team& ours, Team& peer) : ours_(ours), peer_(peer) {}

    std::vector<Pair> pairs(Sample const& ours, Sample const& peer, int count) {
        QuietDeadline const deadline;
        std::vector<Pair> pairs;
        int retries = 0;
        for (int i = 0; i <= count;) {
            bool const was_quiet = is_quiet();
            Pair pair;
            if (i % 2 == 0) pair.ours = ours_.run(ours);
            pair.peer = peer_.run(peer);
            if (i % 2 == 1) pair.ours = ours_.run(ours);
            bool const counts = (was_quiet && is_quiet()) || deadline.has_ended();
            if (!counts) ++retries;
            if (counts && i++ > 0) pairs.push_back(pair);
        }
        if (retries != 0) std::cerr << "  " << retries << " pairs fell into slow bursts of the machine\n";
        return pairs;
    }

private:
    Team& ours_;
    Team& peer_;
};

/// The fastest peer for this sample.
Team& best_of(Teams const& peers, Sample const& sample) {
    std::map<double, Team*> by_time;
    QuietDeadline const deadline;
    for (auto const& peer : peers) {
        deadline.wait_for_quiet();
        std::vector<double> times;
        for (int i = 0; i < 4; ++i) {
            auto const time = peer->run(sample);
            if (i > 0) times.push_back(time);
        }
        by_time.emplace(median(times), peer.get());
    }
    for (auto const& [time, peer] : by_time)
        std::cerr << fmt::format("  {} {:.3g} us", peer->name(), time * 1e6);
    std::cerr << '\n';
    return *by_time.begin()->second;
}

class Benchmark {
public:
    Benchmark(Launchers& launchers, std::string wanted) : launchers_(launchers), wanted_(std::move(wanted)) {}

    void run() {
        if (wants_any({"allreduce-", "private-", "bound-", "objects-native"})) two_ranks();
        for (int const ranks : {4, 8}) crowd(ranks);
        if (wants("oversubscribed-mpich-4B")) crowd_of_mpich();
        if (wants("failure")) std::cout << render(failure_row()) << std::endl;
    }

private:
    bool wants(std::string_view row) const {
        auto const length = std::min(row.size(), wanted_.size());
        return row.substr(0, length) == std::string_view(wanted_).substr(0, length);
    }
    bool wants_any(std::initializer_list<std::string_view> rows) const {
        return std::ranges::any_of(rows, [this](auto row) { return wants(row); });
    }
    static void print(Row const& row) { std::cout << render(row) << std::endl; }

    void two_ranks() {
        auto ours = launchers_.det(2);
        Teams peers;
        peers.push_back(launchers_.openmpi("ob1", 2, ob1));
        peers.push_back(launchers_.openmpi("ob1-rabenseifner", 2, with_algorithm(ob1, rabenseifner)));
        peers.push_back(launchers_.openmpi("ucx", 2, ucx));
        peers.push_back(launchers_.openmpi("ucx-rabenseifner", 2, with_algorithm(ucx, rabenseifner)));
        peers.push_back(launchers_.openmpi("ucx-ring", 2, with_algorithm(ucx, segmented_ring)));
        peers.push_back(launchers_.mpich(2));
        for (auto const& size : sizes) {
            reduce(*ours, peers, size);
            if (size.bytes >= 64 * MiB) bound(*ours, size);
        }
        if (wants("objects-native")) {
            Sample const sample{What::objects, 5000, 0};
            auto& peer = best_of(peers, sample);
            auto const pairs = Measurement(*ours, peer).pairs(sample, sample, pairs_per_row);
            print(summarise("objects-native", pairs, "s", Better::lower));
        }
    }

    void reduce(Team& ours, Teams const& peers, Size const& size) {
        auto const own_row = fmt::format("allreduce-{}", size.name),
                   private_row = fmt::format("private-{}", size.name);
        if (!wants_any({own_row, private_row})) return;
        Sample const own{What::allreduce_own, size.iterations, size.bytes};
        Sample const private_sample{What::allreduce_private, size.iterations, size.bytes};
        auto& peer = best_of(peers, private_sample);
        Measurement measurement(ours, peer);
        if (wants(own_row)) {
            print(summarise(own_row, measurement.pairs(own, private_sample, pairs_per_row), "s",
                            Better::lower));
        }
        if (wants(private_row)) {
            print(summarise(private_row, measurement.pairs(private_sample, private_sample, pairs_per_row),
                            "s", Better::lower));
        }
    }

    /// Lower bound: each rank reads every input byte once and writes every byte of the result once.
    void bound(Team& ours, Size const& size) {
        auto const row = fmt::format("bound-{}", size.name);
        if (!wants(row)) return;
        constexpr std::uint64_t copied_bytes = 256 * MiB;
        Sample const reduce{What::allreduce_own, size.iterations, size.bytes};
        Sample const memory{What::memory_rate, 3, copied_bytes};
        auto pairs = Measurement(ours, ours).pairs(reduce, memory, pairs_per_row);
        auto const ranks = static_cast<double>(ours.ranks());
        for (auto& [ours_rate, memory_rate] : pairs) {
            ours_rate = 2 * ranks * static_cast<double>(size.bytes) / ours_rate / 1e9;
            memory_rate = ranks * static_cast<double>(copied_bytes) / memory_rate / 1e9;
        }
        print(summarise(row, pairs, "GB/s", Better::higher));
    }

    /// More ranks than cores.
    void crowd(int ranks) {
        auto const name = fmt::format("oversubscribed-{}", ranks);
        if (!wants(name)) return;
        auto ours = launchers_.det(ranks);
        Teams peers;
        peers.push_back(launchers_.openmpi("ob1", ranks, ob1));
        peers.push_back(launchers_.openmpi("ucx", ranks, ucx));
        Row worst;
        for (auto const& size : crowded_sizes) {
            Sample const sample{What::allreduce_private, size.iterations, size.bytes};
            auto& peer = best_of(peers, sample);
            auto const pairs = Measurement(*ours, peer).pairs(sample, sample, pairs_per_row);
            auto row = summarise(fmt::format("{}-{}", name, size.name), pairs, "s", Better::lower);
            print(row);
            if (row.ratio > worst.ratio) worst = row;
        }
        worst.name = name;
        print(worst);
    }

    void crowd_of_mpich() {
        constexpr int ranks = 4;
        auto ours = launchers_.det(ranks);
        auto const peer = launchers_.mpich(ranks);
        Sample const many{What::allreduce_private, 500, 4}, few{What::allreduce_private, 20, 4};
        print(summarise("oversubscribed-mpich-4B", Measurement(*ours, *peer).pairs(many, few, pairs_per_row),
                        "s", Better::lower));
    }

    Launchers& launchers_;
    std::string wanted_;
};

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 5) return 2;
    Launchers launchers({argv[1], argv[2], argv[3], argv[4]});
    Benchmark(launchers, argc > 5 ? argv[5] : "").run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << "bench-collectives: error: " << error.what() << '\n';
    return 1;
}
