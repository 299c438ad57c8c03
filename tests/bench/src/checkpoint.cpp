// bench-checkpoint DIRECTORY MIB QUESTION...: compares saving and loading of tensors with memcpy, direct I/O
// and torch.save. MIB is the size of the state of a rank.
#include <det/checkpoint/load.hpp>
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "row.hpp"
#include "thread_peers.hpp"

namespace {

using namespace det;
using namespace det::checkpoint;
using bench::Better;
using bench::Pair;

constexpr std::size_t pair_count = 20;
constexpr std::size_t tensor_count = 16;
std::uint64_t const block_size_bytes = SaverOptions().block_size_bytes;
constexpr double giga = 1e9;

double time_s(std::function<void()> const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Measures pair_count pairs after one warm-up pair.
std::vector<Pair> measure(std::function<double()> const& ours, std::function<double()> const& peer) {
    std::vector<Pair> pairs(pair_count + 1);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (i % 2 == 0) pairs[i].ours = ours();
        pairs[i].peer = peer();
        if (i % 2 == 1) pairs[i].ours = ours();
    }
    pairs.erase(pairs.begin());
    return pairs;
}

void print_row(std::string const& name, std::vector<Pair> const& pairs, std::string const& unit,
               Better better) {
    std::cout << render(bench::summarise(name, pairs, unit, better)) << std::endl;
}

/// The options that det::core uses with `ranks` ranks per node.
SaverOptions options_per_rank(int ranks) {
    return options_for_cores(static_cast<int>(std::thread::hardware_concurrency()) / ranks);
}

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-checkpoint"});
    std::quick_exit(to_int(result.error().code.exit));
}

/// The state of a rank: its rows of each tensor.
struct RankState {
    std::vector<std::byte> bytes;
    State state;

    RankState(std::size_t size_bytes, int rank, int size) : bytes(size_bytes) {
        for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
        auto const rows = size_bytes / tensor_count / 4 / 1024;
        for (std::size_t i = 0; i < tensor_count; ++i) {
            state.push_back(NamedTensor::slice("t" + std::to_string(i), DataType::float32,
                                               {rows * static_cast<std::uint64_t>(size), 1024},
                                               {{rows * static_cast<std::uint64_t>(rank), 0}, {rows, 1024}},
                                               bytes.data() + i * rows * 4096));
        }
    }
};

void require_success(std::vector<SaveOutcome> const& outcomes) {
    for (auto const& outcome : outcomes) {
        if (outcome.error) must(Status(*outcome.error));
    }
}

/// Measures two ranks at the same time. The time of the slower rank counts.
class RankPair {
public:
    RankPair(std::filesystem::path const& root, std::size_t size_bytes)
        : store_(root), size_bytes_(size_bytes) {}

    std::vector<Pair> run() {
        std::vector<Pair> pairs;
        as_ranks(2, [&](ThreadPeers& peers) {
            RankState own(size_bytes_, peers.rank(), 2);
            std::vector<std::byte> warm(own.bytes);
            Saver saver(peers, store_, options_per_rank(2));
            must(saver.prepare(own.state));
            auto const ours = [&] {
                auto const held = together(peers, [&] { uuid_of(must(saver.save({}, own.state))); });
                require_success(must(saver.finish()));
                if (peers.is_chief()) must(store_.remove(uuid_));
                return held;
            };
            auto const peer = [&] {
                return together(peers, [&] { std::memcpy(warm.data(), own.bytes.data(), size_bytes_); });
            };
            auto measured = measure(ours, peer);
            if (peers.is_chief()) pairs = std::move(measured);
        });
        return pairs;
    }

    static double together(ThreadPeers& peers, std::function<void()> const& work) {
        must(peers.allgather(""));
        auto const own = time_s(work);
        double longest = 0;
        for (auto const& text : must(peers.allgather(std::to_string(own))))
            longest = std::max(longest, std::stod(text));
        return longest;
    }

private:
    void uuid_of(SaveStarted const& begun) { uuid_ = begun.uuid; }

    SharedFsStore store_;
    std::size_t size_bytes_;
    std::string uuid_;
};

/// Messages between two ranks of this process, by a socket for each direction.
class SocketMessages final : public RankMessages {
public:
    SocketMessages(int to, int from) : to_(to), from_(from) {}

    Status transfer(std::optional<Outgoing> out, std::optional<Incoming> in) override {
        std::jthread const sender([&] {
            if (out) must(write_all(to_, as_text(out->bytes), "a socket"));
        });
        for (std::size_t at = 0; in && at < in->bytes.size();) {
            auto const count = ::read(from_, in->bytes.data() + at, in->bytes.size() - at);
            if (count <= 0) return os_error("read a socket", errno);
            at += static_cast<std::size_t>(count);
        }
        return Ok{};
    }

private:
    static std::string_view as_text(std::span<std::byte const> bytes) {
        return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
    }

    int to_, from_;
};

enum class Copies { none, on_partner };

/// How long MemorySnapshots::keep() blocks two ranks, when the checksum of the snapshot before is complete,
/// and its copy on the other rank's node, if there are copies.
class KeepPair {
public:
    KeepPair(std::size_t size_bytes, Copies copies) : copies_(copies), size_bytes_(size_bytes) {
        for (int rank = 0; rank < 2; ++rank) must(make_directories(place_for(rank).base));
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, forth_) != 0 ||
            ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, back_) != 0)
            must(Status(os_error("make sockets", errno)));
    }
    ~KeepPair() {
        (void)remove_tree(base_);
        for (int const fd : {forth_[0], forth_[1], back_[0], back_[1]}) ::close(fd);
    }
    KeepPair(KeepPair const&) = delete;
    KeepPair& operator=(KeepPair const&) = delete;

    std::vector<Pair> run() {
        std::vector<Pair> pairs;
        as_ranks(2, [&](ThreadPeers& peers) {
            RankState own(size_bytes_, peers.rank(), 2);
            std::vector<std::byte> warm(own.bytes);
            MemorySnapshotOptions options;
            options.place = place_for(peers.rank());
            options.run = 1;
            options.copy_threads = options_per_rank(2).copy_threads;
            options.warn = [](std::string const& text) { std::cerr << text << '\n'; };
            if (copies_ == Copies::on_partner) {
                options.node = peers.rank();
                options.open_messages = [&]() -> Result<std::unique_ptr<RankMessages>> {
                    bool const is_chief = peers.is_chief();
                    return std::unique_ptr<RankMessages>(std::make_unique<SocketMessages>(
                        is_chief ? forth_[0] : back_[0], is_chief ? back_[1] : forth_[1]));
                };
            }
            MemorySnapshots snapshots(peers, options);
            std::uint64_t step = 0;
            auto const ours = [&] {
                auto const held = RankPair::together(peers, [&] {
                    if (!must(snapshots.keep(++step, {}, own.state))) std::quick_exit(1);
                });
                snapshots.finish();
                must(peers.allgather(""));
                return held;
            };
            auto const peer = [&] {
                return RankPair::together(peers,
                                          [&] { std::memcpy(warm.data(), own.bytes.data(), size_bytes_); });
            };
            ours();  // takes the memory
            auto measured = measure(ours, peer);
            if (peers.is_chief()) pairs = std::move(measured);
        });
        return pairs;
    }

private:
    MemoryPlace place_for(int rank) const {
        auto const base = copies_ == Copies::none ? base_ : base_ / std::to_string(rank);
        return {base, std::to_string(::getpid()), "0.0", ""};
    }

    std::filesystem::path const base_ =
        std::filesystem::path(shared_memory) / ("det-bench-" + std::to_string(::getpid()));
    Copies copies_;
    std::size_t size_bytes_;
    int forth_[2], back_[2];
};

void bench_keep(std::filesystem::path const&, std::size_t size_bytes) {
    print_row("memory-keep", KeepPair(size_bytes, Copies::none).run(), "s", Better::lower);
    print_row("memory-keep-copied", KeepPair(size_bytes, Copies::on_partner).run(), "s", Better::lower);
}

/// Direct I/O by one thread, block after block.
double write_directly(std::filesystem::path const& path, std::byte const* bytes, std::size_t size_bytes) {
    ::unlink(path.c_str());
    return time_s([&] {
        UniqueFd const file(::open(path.c_str(), O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600));
        for (std::size_t at = 0; at < size_bytes; at += block_size_bytes) {
            if (::pwrite(file.get(), bytes + at, block_size_bytes, static_cast<off_t>(at)) !=
                static_cast<ssize_t>(block_size_bytes))
                must(Status(os_error("write the peer's file", errno)));
        }
        if (::fsync(file.get()) != 0) must(Status(os_error("sync the peer's file", errno)));
    });
}

double read_directly(std::filesystem::path const& path, std::byte* block) {
    return time_s([&] {
        UniqueFd const file(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
        for (ssize_t count = 1; count > 0;) count = ::read(file.get(), block, block_size_bytes);
    });
}

struct AlignedBytes {
    explicit AlignedBytes(std::size_t size_bytes)
        : data(static_cast<std::byte*>(std::aligned_alloc(4096, size_bytes))) {
        std::memset(data, 7, size_bytes);
    }
    ~AlignedBytes() { std::free(data); }
    AlignedBytes(AlignedBytes const&) = delete;
    AlignedBytes& operator=(AlignedBytes const&) = delete;
    std::byte* const data;
};

std::vector<Pair> as_rates(std::vector<Pair> pairs, std::size_t size_bytes) {
    for (auto& pair : pairs) {
        pair = {static_cast<double>(size_bytes) / giga / pair.ours,
                static_cast<double>(size_bytes) / giga / pair.peer};
    }
    return pairs;
}

void bench_stall(std::filesystem::path const& directory, std::size_t size_bytes) {
    print_row("checkpoint-stall", RankPair(directory, size_bytes).run(), "s", Better::lower);
}

/// The time from the end of the copy to the end of the commit.
void bench_write(std::filesystem::path const& directory, std::size_t size_bytes) {
    SharedFsStore store(directory);
    NoPeers alone;
    RankState own(size_bytes, 0, 1);
    AlignedBytes const image(size_bytes);
    Saver saver(alone, store);
    must(saver.prepare(own.state));
    auto const ours = [&] {
        auto const begun = must(saver.save({}, own.state));
        auto const time = time_s([&] { require_success(must(saver.finish())); });
        must(store.remove(begun.uuid));
        return time;
    };
    auto const peer = [&] { return write_directly(directory / "peer", image.data, size_bytes); };
    print_row("checkpoint-write", as_rates(measure(ours, peer), size_bytes), "GB/s", Better::higher);
    ::unlink((directory / "peer").c_str());
}

/// A checkpoint of one rank, and the time to load it.
class StoredState {
public:
    StoredState(std::filesystem::path const& directory, std::size_t size_bytes)
        : store_(directory), own_(size_bytes, 0, 1) {
        Saver saver(alone_, store_);
        uuid_ = must(saver.save({}, own_.state)).uuid;
        require_success(must(saver.finish()));
    }
    ~StoredState() { (void)store_.remove(uuid_); }
    StoredState(StoredState const&) = delete;
    StoredState& operator=(StoredState const&) = delete;

    double load_s() {
        return time_s([&] { must(load(alone_, store_, {uuid_}, own_.state, OnDamage::fail)); });
    }
    std::filesystem::path shard() const { return store_.path_of(uuid_) / shard_name(0); }

private:
    SharedFsStore store_;
    NoPeers alone_;
    RankState own_;
    std::string uuid_;
};

void bench_read(std::filesystem::path const& directory, std::size_t size_bytes) {
    StoredState stored(directory, size_bytes);
    AlignedBytes const block(block_size_bytes);
    auto const ours = [&] { return stored.load_s(); };
    auto const peer = [&] { return read_directly(stored.shard(), block.data); };
    print_row("checkpoint-read", as_rates(measure(ours, peer), size_bytes), "GB/s", Better::higher);
}

/// Loading a shard from the page cache (as after the wrappers have read it ahead), compared with the disk.
void bench_read_ahead(std::filesystem::path const& directory, std::size_t size_bytes) {
    StoredState stored(directory, size_bytes);
    AlignedBytes const block(block_size_bytes);
    UniqueFd const file(::open(stored.shard().c_str(), O_RDONLY | O_CLOEXEC));
    auto const ours = [&] {
        for (std::size_t at = 0; at < size_bytes; at += block_size_bytes)
            (void)!::pread(file.get(), block.data, block_size_bytes, static_cast<off_t>(at));
        return stored.load_s();
    };
    auto const peer = [&] {
        ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
        return stored.load_s();
    };
    print_row("checkpoint-read-ahead", measure(ours, peer), "s", Better::lower);
}

/// Runs torch_save.py, which saves once per input line and prints the seconds.
class TorchPeer {
public:
    TorchPeer(std::filesystem::path const& directory, std::size_t size_bytes) {
        int to[2], from[2];
        if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
            must(Status(os_error("make a pipe", errno)));
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(to[0], 0);
            ::dup2(from[1], 1);
            ::execl("/usr/bin/python3", "python3", "tests/bench/torch_save.py", directory.c_str(),
                    std::to_string(size_bytes).c_str(), std::to_string(tensor_count).c_str(), nullptr);
            ::_exit(127);
        }
        ::close(to[0]);
        ::close(from[1]);
        to_ = UniqueFd(to[1]);
        from_ = UniqueFd(from[0]);
    }
    ~TorchPeer() {
        to_.reset();
        ::waitpid(pid_, nullptr, 0);
    }
    TorchPeer(TorchPeer const&) = delete;
    TorchPeer& operator=(TorchPeer const&) = delete;

    double save() {
        must(write_all(to_.get(), "\n", "a pipe"));
        char answer[64] = {};
        if (::read(from_.get(), answer, sizeof answer - 1) <= 0)
            must(Status(Error{codes::process, "torch_save.py has ended", "install python3-torch"}));
        return std::stod(answer);
    }

private:
    pid_t pid_;
    UniqueFd to_, from_;
};

void bench_torch(std::filesystem::path const& directory, std::size_t size_bytes) {
    SharedFsStore store(directory);
    NoPeers alone;
    RankState own(size_bytes, 0, 1);
    Saver saver(alone, store, options_per_rank(1));
    must(saver.prepare(own.state));
    TorchPeer torch(directory, size_bytes);
    std::vector<double> totals;
    auto const ours = [&] {
        std::string uuid;
        auto const held = time_s([&] { uuid = must(saver.save({}, own.state)).uuid; });
        totals.push_back(held + time_s([&] { require_success(must(saver.finish())); }));
        must(store.remove(uuid));
        return held;
    };
    auto pairs = measure(ours, [&] { return torch.save(); });
    print_row("checkpoint-torch-stall", pairs, "s", Better::lower);
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].ours = totals[i + 1];
    print_row("checkpoint-torch-total", pairs, "s", Better::lower);
}

/// Touches as much memory as the measurements need.
void warm_up(std::filesystem::path const&, std::size_t size_bytes) {
    constexpr std::size_t copies = 8;
    std::vector<std::byte> const touched(copies * size_bytes, std::byte{1});
    if (touched.back() != std::byte{1}) std::cerr << "memory forgets\n";
}

std::map<std::string, void (*)(std::filesystem::path const&, std::size_t)> const questions{
    {"warm", warm_up},    {"stall", bench_stall},           {"keep", bench_keep},  {"write", bench_write},
    {"read", bench_read}, {"read-ahead", bench_read_ahead}, {"torch", bench_torch}};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: bench-checkpoint DIRECTORY MIB warm|stall|keep|write|read|read-ahead|torch...\n";
        return to_int(ExitCode::usage);
    }
    auto const size_bytes = std::stoull(argv[2]) << 20;
    for (int i = 3; i < argc; ++i) questions.at(argv[i])(argv[1], size_bytes);
    return 0;
}
