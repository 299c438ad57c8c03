#include "memory_file.hpp"

#include <det/foundation/bytes.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t head_bytes = 4096;
constexpr std::uint64_t data_alignment_bytes = 64;
constexpr char memory_magic[8] = {'D', 'E', 'T', 'S', 'N', 'A', 'P', '1'};

struct Head {
    char magic[sizeof memory_magic];
    std::uint64_t size_bytes;
    std::uint64_t json_bytes;
    std::uint32_t crc32c;
    std::uint32_t reserved;
};
static_assert(sizeof(Head) == 32);

std::uint64_t align_data(std::uint64_t offset) {
    return (offset + data_alignment_bytes - 1) / data_alignment_bytes * data_alignment_bytes;
}

/// The offsets of tensors behind the first of them.
std::vector<std::uint64_t> relative_offsets(State const& state, std::uint64_t& end) {
    std::vector<std::uint64_t> offsets;
    end = 0;
    for (auto const& tensor : state) {
        offsets.push_back(end);
        end = align_data(end + tensor.size_bytes());
    }
    return offsets;
}

Json describe_tensors(State const& state, std::vector<std::uint64_t> const& offsets) {
    auto list = Json::array();
    for (std::size_t i = 0; i < state.size(); ++i) {
        auto const& tensor = state[i];
        list.push_back({{"name", tensor.name},
                        {"type", static_cast<int>(tensor.type)},
                        {"shape", tensor.shape},
                        {"begin", tensor.part.begin},
                        {"part", tensor.part.shape},
                        {"offset", offsets[i]}});
    }
    return list;
}

Error damaged_file(fs::path const& path, std::string const& what) {
    return Error{codes::checkpoint_damaged, fmt::format("'{}' is damaged: {}", path.string(), what)};
}

/// Whether the part lies inside the tensor, and its data inside the file.
bool is_consistent(MemoryFile::Tensor const& tensor, std::uint64_t file_size_bytes) {
    auto const& [name, type, shape, part] = tensor.slice;
    auto const elements = count_elements(part.shape);
    bool const has_dimensions = part.begin.size() == shape.size() && part.shape.size() == shape.size();
    if (!is_known(type) || !elements || !has_dimensions) return false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (part.begin[d] > shape[d] || part.shape[d] > shape[d] - part.begin[d]) return false;
    }
    return tensor.offset_bytes <= file_size_bytes &&
           *elements <= (file_size_bytes - tensor.offset_bytes) / size_of(type);
}

Result<UniqueFd> open_own(fs::path const& path, int flags) {
    UniqueFd fd(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return os_error(fmt::format("open '{}'", path.string()), errno);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return os_error(fmt::format("look at '{}'", path.string()), errno);
    if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_nlink != 1)
        return Error{codes::unsafe_owner, fmt::format("'{}' is not a file of this user", path.string())};
    return fd;
}

}  // namespace

std::string to_string(MemoryFileName const& name) {
    return fmt::format("{}.{}.{}of{}", name.run, name.steps, name.rank, name.ranks);
}

std::optional<MemoryFileName> parse_memory_file_name(std::string_view text) {
    auto const first = text.find('.');
    auto const second = first == text.npos ? text.npos : text.find('.', first + 1);
    auto const of = second == text.npos ? text.npos : text.find("of", second + 1);
    if (of == text.npos) return std::nullopt;
    auto const run = parse_integer<std::uint32_t>(text.substr(0, first));
    auto const steps = parse_integer<std::uint64_t>(text.substr(first + 1, second - first - 1));
    auto const rank = parse_integer<int>(text.substr(second + 1, of - second - 1));
    auto const ranks = parse_integer<int>(text.substr(of + 2));
    if (!run || !steps || !rank || !ranks || *rank < 0 || *rank >= *ranks) return std::nullopt;
    return MemoryFileName{*run, *steps, *rank, *ranks};
}

ShardPlan plan_memory_file(MemoryFileName const& name, JsonValue const& metadata, State const& state) {
    ShardPlan plan;
    std::uint64_t data_bytes = 0;
    plan.offsets = relative_offsets(state, data_bytes);
    auto const json = to_line(Json{{"run", name.run},
                                   {"steps", name.steps},
                                   {"rank", name.rank},
                                   {"ranks", name.ranks},
                                   {"metadata", *metadata},
                                   {"tensors", describe_tensors(state, plan.offsets)}});
    Head head{};
    std::memcpy(head.magic, memory_magic, sizeof memory_magic);
    head.json_bytes = json.size();
    auto const begin = align_data(head_bytes + json.size());
    for (auto& offset : plan.offsets) offset += begin;
    plan.size_bytes = head.size_bytes = begin + data_bytes;
    plan.header.assign(head_bytes, '\0');
    std::memcpy(plan.header.data(), &head, sizeof head);
    plan.header += json;
    plan.header.resize(begin, '\0');
    plan.file = to_string(name);
    plan.slices.resize(state.size());
    std::iota(plan.slices.begin(), plan.slices.end(), std::size_t{0});
    return plan;
}

void complete_memory_file(std::span<std::byte> image) {
    Head head;
    std::memcpy(&head, image.data(), sizeof head);
    head.crc32c = crc32c(image.subspan(head_bytes));
    std::memcpy(image.data(), &head, sizeof head);
}

bool is_complete_memory_file(std::span<std::byte const> image) {
    if (image.size() < head_bytes) return false;
    Head head;
    std::memcpy(&head, image.data(), sizeof head);
    return std::memcmp(head.magic, memory_magic, sizeof memory_magic) == 0 &&
           head.size_bytes == image.size() && crc32c(image.subspan(head_bytes)) == head.crc32c;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    unmap();
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    return *this;
}

void MappedFile::unmap() {
    if (data_ != nullptr) ::munmap(data_, size_bytes_);
    data_ = nullptr;
    size_bytes_ = 0;
}

Status MappedFile::map(std::size_t size_bytes, int protection) {
    if (size_bytes == 0) return Ok{};
    // The pages are present afterwards: a copy into the mapping causes no page faults.
    auto* const data = ::mmap(nullptr, size_bytes, protection, MAP_SHARED | MAP_POPULATE, fd_.get(), 0);
    if (data == MAP_FAILED) return os_error("map a snapshot in memory", errno);
    data_ = static_cast<std::byte*>(data);
    size_bytes_ = size_bytes;
    return Ok{};
}

Result<MappedFile> MappedFile::open(fs::path const& path) {
    MappedFile mapped;
    DET_TRY_ASSIGN(mapped.fd_, open_own(path, O_RDONLY));
    struct stat info {};
    if (::fstat(mapped.fd_.get(), &info) != 0) return os_error("look at a snapshot in memory", errno);
    DET_TRY(mapped.map(static_cast<std::size_t>(info.st_size), PROT_READ));
    return mapped;
}

Result<MappedFile> MappedFile::create(fs::path const& path) {
    MappedFile created;
    created.fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!created.fd_) return os_error(fmt::format("create '{}'", path.string()), errno);
    return created;
}

Result<MappedFile> MappedFile::open_for_writing(fs::path const& path) {
    MappedFile opened;
    DET_TRY_ASSIGN(opened.fd_, open_own(path, O_RDWR));
    return opened;
}

std::uint64_t MappedFile::size_bytes() const {
    struct stat info {};
    return ::fstat(fd_.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Status MappedFile::resize(std::size_t size_bytes) {
    if (data_ != nullptr && size_bytes == size_bytes_) return Ok{};
    unmap();
    auto const size = static_cast<off_t>(size_bytes);
    if (::ftruncate(fd_.get(), size) != 0) return os_error("resize a snapshot in memory", errno);
    int failed = 0;
    do failed = ::posix_fallocate(fd_.get(), 0, size);
    while (failed == EINTR);
    if (failed != 0) return os_error("take memory for a snapshot", failed);
    return map(size_bytes, PROT_READ | PROT_WRITE);
}

Result<MemoryFile> MemoryFile::open(fs::path const& directory, MemoryFileName const& name) {
    auto const path = directory / to_string(name);
    MemoryFile opened;
    opened.name = name;
    DET_TRY_ASSIGN(opened.file, MappedFile::open(path));
    auto const bytes = opened.file.bytes();
    if (bytes.size() < head_bytes) return damaged_file(path, "it is too short");
    Head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (std::memcmp(head.magic, memory_magic, sizeof memory_magic) != 0)
        return damaged_file(path, "it is no snapshot");
    if (head.size_bytes != bytes.size() || head.json_bytes > bytes.size() - head_bytes)
        return damaged_file(path, "it has another size than it says");
    auto const begin = align_data(head_bytes + head.json_bytes);
    std::string_view const text(reinterpret_cast<char const*>(bytes.data()) + head_bytes, head.json_bytes);
    auto const read = decode_json(path.string(), [&] {
        auto const json = parse_json(text);
        opened.metadata = json.at("metadata");
        for (auto const& each : json.at("tensors")) {
            Tensor tensor;
            each.at("name").get_to(tensor.slice.name);
            tensor.slice.type = static_cast<DataType>(each.at("type").get<int>());
            each.at("shape").get_to(tensor.slice.shape);
            each.at("begin").get_to(tensor.slice.part.begin);
            each.at("part").get_to(tensor.slice.part.shape);
            tensor.offset_bytes = begin + each.at("offset").get<std::uint64_t>();
            opened.tensors.push_back(std::move(tensor));
        }
        return MemoryFileName{json.at("run").get<std::uint32_t>(), json.at("steps").get<std::uint64_t>(),
                              json.at("rank").get<int>(), json.at("ranks").get<int>()};
    });
    if (!read) return damaged_file(path, read.error().message);
    if (*read != name) return damaged_file(path, "it is that of another step or rank");
    for (auto const& tensor : opened.tensors) {
        if (!is_consistent(tensor, bytes.size()))
            return damaged_file(path, fmt::format("tensor '{}' is not inside it", tensor.slice.name));
    }
    return opened;
}

Status MemoryFile::verify() const {
    Head head;
    std::memcpy(&head, file.bytes().data(), sizeof head);
    if (crc32c(file.bytes().subspan(head_bytes)) == head.crc32c) return Ok{};
    return Error{codes::checkpoint_damaged,
                 fmt::format("the snapshot '{}' in memory has another checksum", to_string(name))};
}

}  // namespace det::checkpoint
