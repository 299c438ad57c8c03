#include <det/checkpoint/load.hpp>
#include <det/checkpoint/tensor_file.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write_plan.hpp"

namespace det::checkpoint {
namespace {

/// A file in memory.
class FileMapping {
public:
    static Result<FileMapping> map(int fd, std::size_t size_bytes, int protection, std::string const& name) {
        FileMapping mapping;
        if (size_bytes == 0) return mapping;
        auto* const data = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED) return os_error(fmt::format("map '{}' into memory", name), errno);
        mapping.data_ = static_cast<std::byte*>(data);
        mapping.size_bytes_ = size_bytes;
        return mapping;
    }
    FileMapping(FileMapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
    FileMapping& operator=(FileMapping&&) = delete;
    ~FileMapping() {
        if (data_ != nullptr) ::munmap(data_, size_bytes_);
    }

    std::byte* data() const { return data_; }
    std::size_t size_bytes() const { return size_bytes_; }

private:
    FileMapping() = default;

    std::byte* data_ = nullptr;
    std::size_t size_bytes_ = 0;
};

/// The tensors to export, with their names in the checkpoint and in the file.
struct Chosen {
    State state;  // without data
    std::vector<LocalTensorSlice> in_file;
};

Result<Chosen> choose(CheckpointManifest const& manifest, NameInFile const& name_in_file) {
    Chosen chosen;
    std::set<std::string> names;
    for (auto const& stored : manifest.tensors) {
        auto const name = name_in_file(stored.name);
        auto const type = tensor::parse_safetensors_name(stored.dtype);
        if (!name || !type) continue;
        if (!names.insert(*name).second)
            return Error{codes::bad_value, fmt::format("two tensors get the name '{}'", *name)};
        chosen.state.push_back(NamedTensor::whole(stored.name, *type, stored.shape, nullptr));
        chosen.in_file.push_back(chosen.state.back());
        chosen.in_file.back().name = *name;
    }
    if (!chosen.in_file.empty()) return chosen;
    return Error{codes::no_such_file, fmt::format("checkpoint {} has no such tensors", manifest.uuid),
                 fmt::format("'det-submit checkpoint describe {}' lists what it has", manifest.uuid)};
}

/// Writes the header, and loads the tensors to their places behind it.
Status fill(int fd, Store const& store, std::string const& uuid, Chosen chosen, std::string const& name) {
    DET_TRY_ASSIGN(auto const plan, plan_writes({chosen.in_file}));
    auto const& file = plan.shards.at(0);
    if (::ftruncate(fd, static_cast<off_t>(file.size_bytes)) != 0)
        return os_error(fmt::format("write '{}'", name), errno);
    // Without the blocks a full disk would be a signal at the first access, and no error.
    if (int const failed = ::posix_fallocate(fd, 0, static_cast<off_t>(file.size_bytes)); failed != 0)
        return os_error(fmt::format("write '{}'", name), failed);
    DET_TRY_ASSIGN(auto const mapping, FileMapping::map(fd, file.size_bytes, PROT_READ | PROT_WRITE, name));
    std::memcpy(mapping.data(), file.header.data(), file.header.size());
    for (std::size_t i = 0; i < file.slices.size(); ++i)
        chosen.state[file.slices[i]].data = mapping.data() + file.offsets[i];
    NoPeers alone;
    DET_TRY(load(alone, store, {uuid}, chosen.state, OnDamage::fail));
    if (::msync(mapping.data(), mapping.size_bytes(), MS_SYNC) != 0 || ::fsync(fd) != 0)
        return os_error(fmt::format("write '{}'", name), errno);
    return Ok{};
}

Error not_safetensors(std::filesystem::path const& source, std::string const& why) {
    return {codes::bad_value, fmt::format("'{}' is not a safetensors file: {}", source.string(), why)};
}

/// The tensors of a safetensors file, with their data in the mapping.
Result<State> read_tensors(FileMapping const& file, std::filesystem::path const& source) {
    std::uint64_t header_size = 0;
    constexpr auto prefix = sizeof header_size;
    if (file.size_bytes() < prefix) return not_safetensors(source, "it is too short");
    std::memcpy(&header_size, file.data(), prefix);
    if (header_size > file.size_bytes() - prefix)
        return not_safetensors(source, "its header is longer than the file");
    std::string_view const header(reinterpret_cast<char const*>(file.data() + prefix), header_size);
    auto const data_size = file.size_bytes() - prefix - header_size;
    auto parsed = decode_json("the header of a safetensors file", [&] {
        State state;
        auto const tensors = parse_json(header);
        for (auto const& [name, tensor] : tensors.items()) {
            if (name == "__metadata__") continue;
            auto const type =
                tensor::parse_safetensors_name(tensor.at("dtype").get_ref<std::string const&>());
            if (!type) throw Json::other_error::create(501, "'" + name + "' has an unknown dtype", nullptr);
            auto const begin = tensor.at("data_offsets").at(0).get<std::uint64_t>();
            auto const end = tensor.at("data_offsets").at(1).get<std::uint64_t>();
            auto added = NamedTensor::whole(name, *type, tensor.at("shape").get<Extents>(), nullptr);
            if (begin > end || end > data_size || !count_elements(added.shape) ||
                added.size_bytes() != end - begin)
                throw Json::other_error::create(501, "'" + name + "' has wrong offsets", nullptr);
            added.data = file.data() + prefix + header_size + begin;
            state.push_back(std::move(added));
        }
        return state;
    });
    if (!parsed) return not_safetensors(source, parsed.error().message);
    return parsed;
}

}  // namespace

Status export_tensors(Store const& store, CheckpointManifest const& manifest, NameInFile const& name_in_file,
                      std::filesystem::path const& target) {
    DET_TRY_ASSIGN(auto chosen, choose(manifest, name_in_file));
    UniqueFd const fd(::open(target.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd && errno == EEXIST)
        return Error{codes::name_taken, fmt::format("'{}' is there already", target.string())};
    if (!fd) return os_error(fmt::format("create '{}'", target.string()), errno);
    auto filled = fill(fd.get(), store, manifest.uuid, std::move(chosen), target.string());
    if (!filled) ::unlink(target.c_str());
    return filled;
}

Result<CheckpointManifest> import_tensors(Store& store, std::filesystem::path const& source,
                                          SaveDescription const& description) {
    UniqueFd const fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0)
        return os_error(fmt::format("read '{}'", source.string()), errno);
    DET_TRY_ASSIGN(auto const mapping, FileMapping::map(fd.get(), static_cast<std::size_t>(info.st_size),
                                                        PROT_READ, source.string()));
    DET_TRY_ASSIGN(auto const state, read_tensors(mapping, source));
    if (state.empty()) return not_safetensors(source, "it has no tensors");
    NoPeers alone;
    SaverOptions options;
    options.in_flight_max = 1;
    Saver saver(alone, store, std::move(options));
    DET_TRY(saver.save(description, state, TrainingAfterSave::ends));
    DET_TRY_ASSIGN(auto const ended, saver.finish());
    auto const& outcome = ended.at(0);
    if (outcome.error) return *outcome.error;
    return *outcome.manifest;
}

}  // namespace det::checkpoint
