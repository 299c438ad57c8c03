// The main loop of a rank of a contestant: executes the commands of the coordinator.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "contestant.hpp"
#include "protocol.hpp"
#include "timed_loop.hpp"

namespace det::bench {
namespace {

[[noreturn]] void give_up(char const* what) {
    std::perror(what);
    std::exit(1);
}

int open_pipe(std::string const& path, int flags) {
    int const fd = ::open(path.c_str(), flags);
    if (fd < 0) give_up(path.c_str());
    return fd;
}

/// Pins each rank to a core if there are enough cores.
void bind_to_core(int rank, int ranks) {
    cpu_set_t all;
    if (::sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < ranks) return;
    int skipped = 0;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &all) || skipped++ != rank) continue;
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(core, &own);
        ::sched_setaffinity(0, sizeof own, &own);
    }
}

class Barrier {
public:
    Barrier(std::string const& path, int rank, int ranks) : rank_(rank), ranks_(ranks) {
        int const fd = open_pipe(path, O_RDWR);
        auto* const memory = ::mmap(nullptr, sizeof(BarrierCell) * static_cast<std::size_t>(ranks),
                                    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) give_up("mmap");
        cells_ = static_cast<BarrierCell*>(memory);
        may_spin_ = ::sysconf(_SC_NPROCESSORS_ONLN) >= ranks;
    }
    void wait() {
        cells_[rank_].count.store(++count_, std::memory_order_release);
        for (int other = 0; other < ranks_; ++other) {
            while (cells_[other].count.load(std::memory_order_acquire) < count_) {
                if (!may_spin_) ::sched_yield();
            }
        }
    }

private:
    int rank_, ranks_;
    BarrierCell* cells_;
    std::uint64_t count_ = 0;
    bool may_spin_;
};

class Worker {
public:
    Worker(Contestant& contestant, std::string const& directory)
        : contestant_(contestant),
          in_(open_pipe(pipe_path(directory, contestant.rank(), "in"), O_RDONLY)),
          out_(open_pipe(pipe_path(directory, contestant.rank(), "out"), O_WRONLY)),
          barrier_(barrier_path(directory), contestant.rank(), contestant.size()) {}

    void work() {
        Sample sample;
        while (::read(in_, &sample, sizeof sample) == sizeof sample && sample.what != Sample::What::end) {
            auto const outcome = run(sample);
            if (::write(out_, &outcome, sizeof outcome) != sizeof outcome) give_up("write");
        }
    }

private:
    Outcome run(Sample const& sample) {
        switch (sample.what) {
            case Sample::What::objects:
                return run_objects(sample);
            case Sample::What::memory_rate:
                return run_memory(sample);
            default:
                return run_allreduce(sample);
        }
    }

    template <class Prepare, class Operation>
    double mean_of(std::uint32_t iterations, Prepare prepare, Operation operation) {
        last_ = iterations + measure::warm_up_iterations(iterations) - 1;
        return measure::measure_mean_seconds(
            iterations, prepare, [this] { barrier_.wait(); }, operation);
    }

    std::span<float> memory_for(Sample const& sample) {
        auto& memory = memory_[sample.what == Sample::What::allreduce_own ? 0 : 1];
        auto const count = sample.bytes / sizeof(float);
        if (memory.size() < count)
            memory = contestant_.memory(count, sample.what == Sample::What::allreduce_own);
        return memory.first(count);
    }

    Outcome run_allreduce(Sample const& sample) {
        auto const values = memory_for(sample);
        auto const rank = static_cast<float>(contestant_.rank());
        auto const fill = [&](std::uint64_t iteration) {
            auto const value = rank + 1 + offset_of(iteration);
            for (auto& each : values) each = value;
        };
        Outcome outcome;
        outcome.seconds = mean_of(sample.iterations, fill, [&] { contestant_.allreduce(values); });
        auto const ranks = static_cast<float>(contestant_.size());
        auto const expected = ranks * (ranks + 1) / 2 + ranks * offset_of(last_);
        for (auto const value : values) outcome.wrong += value != expected;
        return outcome;
    }

    Outcome run_objects(Sample const& sample) {
        std::vector<int> sizes;
        std::size_t sum = 0;
        for (int rank = 0; rank < contestant_.size(); ++rank) {
            sizes.push_back(object_size(rank));
            sum += static_cast<std::size_t>(sizes.back());
        }
        std::vector<char> value(static_cast<std::size_t>(object_size(contestant_.rank())));
        std::size_t came = 0;
        Outcome outcome;
        outcome.seconds = mean_of(
            sample.iterations,
            [&](std::uint64_t i) { std::memset(value.data(), static_cast<int>(i), value.size()); },
            [&] { came = contestant_.allgather(value, sizes); });
        outcome.wrong = came != sum;
        return outcome;
    }

    /// Copies one half of the memory to the other with streaming stores, on all ranks at the same time.
    Outcome run_memory(Sample const& sample) {
        auto const half = memory_for(sample).size() / 2;
        auto const from = memory_for(sample).first(half), to = memory_for(sample).subspan(half);
        Outcome outcome;
        outcome.seconds = mean_of(
            sample.iterations, [](std::uint64_t) {}, [&] { stream(from, to); });
        return outcome;
    }

    static void stream(std::span<float const> from, std::span<float> to) {
#ifdef __SSE2__
        auto const* source = reinterpret_cast<__m128i const*>(from.data());
        auto* target = reinterpret_cast<__m128i*>(to.data());
        for (std::size_t i = 0; i < from.size_bytes() / sizeof(__m128i); i += 4) {
            auto const a = _mm_load_si128(source + i), b = _mm_load_si128(source + i + 1),
                       c = _mm_load_si128(source + i + 2), d = _mm_load_si128(source + i + 3);
            _mm_stream_si128(target + i, a);
            _mm_stream_si128(target + i + 1, b);
            _mm_stream_si128(target + i + 2, c);
            _mm_stream_si128(target + i + 3, d);
        }
        _mm_sfence();
#else
        std::memcpy(to.data(), from.data(), from.size_bytes());
#endif
    }

    Contestant& contestant_;
    int in_, out_;
    Barrier barrier_;
    std::uint64_t last_ = 0;
    std::span<float> memory_[2];
};

}  // namespace
}  // namespace det::bench

// WORKER DIRECTORY [what the contestant needs]
int main(int argc, char** argv) {
    if (argc < 2) return 2;
    auto const contestant = det::bench::make_contestant(argc, argv);
    det::bench::bind_to_core(contestant->rank(), contestant->size());
    det::bench::Worker(*contestant, argv[1]).work();
    return 0;
}
