#include "control_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::collectives::node {
namespace {

/// The first bytes of the control memory.
struct Head {
    char magic[8];
    std::uint32_t version;
    std::uint32_t ranks;
    Geometry geometry;
};
constexpr char magic[8] = {'D', 'E', 'T', 'N', 'O', 'D', 'E', '\n'};
constexpr std::uint32_t version = 3;
constexpr std::size_t page_bytes = 4096;

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

Status check(Geometry const& geometry) {
    constexpr std::size_t line_bytes = 64;
    bool const is_whole = geometry.chunk_bytes % line_bytes == 0 &&
                          geometry.small_limit_bytes % line_bytes == 0 &&
                          geometry.pair_limit_bytes % line_bytes == 0;
    if (is_whole && geometry.chunk_bytes > 0 && geometry.chunks_in_flight >= 2) return Ok{};
    return Error{
        codes::misuse,
        fmt::format(
            "shared memory cannot have chunks of {} bytes, {} in flight, small ones of {}, of {} for a pair",
            geometry.chunk_bytes, geometry.chunks_in_flight, geometry.small_limit_bytes,
            geometry.pair_limit_bytes)};
}

Error damaged() {
    return Error{codes::damaged, "what was passed as shared memory of a node's ranks is none of this version",
                 "start all ranks from the same version of the program"};
}

}  // namespace

Geometry geometry_for(int ranks) {
    Geometry geometry;
    // Each rank has chunks in flight for each other rank. All chunks together use a part of a shared cache.
    constexpr std::size_t together_bytes = std::size_t{8} << 20;
    constexpr std::size_t chunk_min_bytes = 16 * 1024;
    auto const pairs = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    auto const fitting = together_bytes / pairs / geometry.chunks_in_flight / page_bytes * page_bytes;
    geometry.chunk_bytes = std::clamp(fitting, chunk_min_bytes, geometry.chunk_bytes);
    return geometry;
}

ControlMemory::ControlMemory(std::byte* memory, std::size_t size, int ranks, Geometry const& geometry)
    : memory_(memory), size_(size), ranks_(ranks), geometry_(geometry) {
    lay_out();
}

ControlMemory::ControlMemory(ControlMemory&& other) noexcept
    : ControlMemory(std::exchange(other.memory_, nullptr), other.size_, other.ranks_, other.geometry_) {}

ControlMemory::~ControlMemory() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
}

std::size_t ControlMemory::lay_out() {
    std::size_t end = round_up(sizeof(Head), apart_bytes);
    auto const place = [&end](std::size_t size, std::size_t count, std::size_t alignment = apart_bytes) {
        auto const begin = round_up(end, alignment);
        end = begin + size * count;
        return begin;
    };
    auto const ranks = static_cast<std::size_t>(ranks_);
    failure_ = place(sizeof(Failure), 1);
    futex_waiters_ = place(sizeof(FutexWaiters), 1);
    cells_ = place(sizeof(Cell), 2 * ranks);
    rounds_ = place(sizeof(Rounds), ranks);
    members_ = place(sizeof(Member), ranks);
    call_records_ = place(sizeof(CallRecord), ranks);
    flags_ = place(sizeof(Flag), ranks);
    small_ = place(small_bytes(), ranks_ == 2 ? ranks : 2 * ranks, page_bytes);
    chunk_slots_ = place(geometry_.chunk_bytes, ranks * ranks * geometry_.chunks_in_flight, page_bytes);
    return round_up(end, page_bytes);
}

Result<UniqueFd> ControlMemory::create(int ranks, Geometry const& geometry) {
    DET_TRY(check(geometry));
    UniqueFd fd(::memfd_create("det-node", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) return os_error("make shared memory", errno);
    ControlMemory plan(nullptr, 0, ranks, geometry);
    auto const size = plan.lay_out();
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return os_error("size shared memory", errno);
    Head head{{}, version, static_cast<std::uint32_t>(ranks), geometry};
    std::copy(std::begin(magic), std::end(magic), head.magic);
    if (::pwrite(fd.get(), &head, sizeof head, 0) != sizeof head)
        return os_error("write shared memory", errno);
    // Sealed, so that no process can truncate the memory that others have mapped.
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return os_error("seal shared memory", errno);
    }
    return Result<UniqueFd>(std::move(fd));
}

Result<ControlMemory> ControlMemory::map(int fd) {
    Head head;
    struct stat info {};
    if (::fstat(fd, &info) != 0) return os_error("look at shared memory", errno);
    if (::pread(fd, &head, sizeof head, 0) != sizeof head) return damaged();
    if (!std::equal(std::begin(magic), std::end(magic), head.magic) || head.version != version)
        return damaged();
    DET_TRY(check(head.geometry));
    auto const size = ControlMemory(nullptr, 0, static_cast<int>(head.ranks), head.geometry).lay_out();
    if (static_cast<std::size_t>(info.st_size) != size) return damaged();
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return os_error("map shared memory", errno);
    return ControlMemory(static_cast<std::byte*>(memory), size, static_cast<int>(head.ranks), head.geometry);
}

}  // namespace det::collectives::node
