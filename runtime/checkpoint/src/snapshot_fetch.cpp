#include "snapshot_fetch.hpp"

#include <det/checkpoint/error_exchange.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace det::checkpoint {

namespace fs = std::filesystem;

struct SnapshotFetch::Transfer {
    MemoryFileName name;
    int from;
    int to;
    std::uint64_t size_bytes;
};

bool has_whole_file(MemoryFiles const& files, MemoryFileName const& name) {
    auto const found = files.find(name);
    if (found == files.end()) return false;
    auto const file = MemoryFile::open(found->second, name);
    return file && file->verify();
}

Result<std::map<SnapshotId, SnapshotHolders>> SnapshotFetch::find(MemoryFiles const& files) {
    auto own = fmt::format("{}\n", node_);
    for (auto const& [name, directory] : files) {
        std::error_code ignored;
        auto const size = fs::file_size(directory / to_string(name), ignored);
        if (!ignored) own += fmt::format("{} {}\n", to_string(name), size);
    }
    DET_TRY_ASSIGN(auto const of_all, peers_.allgather(own));
    std::map<SnapshotId, SnapshotHolders> found;
    nodes_.clear();
    for (std::size_t rank = 0; rank < of_all.size(); ++rank) {
        auto const lines = split_lines(of_all[rank]);
        nodes_.push_back(lines.empty() ? 0 : parse_integer<int>(lines[0]).value_or(0));
        for (auto const line : lines) {
            auto const space = std::min(line.find(' '), line.size());
            auto const name = parse_memory_file_name(line.substr(0, space));
            if (!name) continue;
            auto const size =
                parse_integer<std::uint64_t>(line.substr(std::min(space + 1, line.size()))).value_or(0);
            auto& holders = found[id_of(*name)][name->rank];
            // A node whose file has been cut off does not count.
            if (size < holders.size_bytes) continue;
            if (size > holders.size_bytes) holders = {{}, size};
            holders.ranks.push_back(static_cast<int>(rank));
        }
    }
    return found;
}

// All ranks make the same list of transfers, and each works through those that concern it in this order: the
// first transfer that is not complete has both of its ranks waiting for it, so they do not wait in a circle.
// The k-th transfer of a file comes from the holder k / 2, where those that have got it are the next holders:
// a tree in which each holder sends to two.
Result<Status> SnapshotFetch::fetch(RankMessages& messages, SnapshotId const& id,
                                    SnapshotHolders const& holders, std::vector<int> const& wanted,
                                    MemoryFiles& files,
                                    std::function<Status(std::uint64_t)> const& check_room) {
    DET_TRY_ASSIGN(auto const texts, peers_.allgather(fmt::format("{}", fmt::join(wanted, " "))));
    std::vector<Transfer> transfers;
    std::map<int, std::vector<int>> now_have;
    std::map<int, std::size_t> count;
    std::uint64_t needed = 0;
    for (std::size_t to = 0; to < texts.size(); ++to) {
        for (auto const word : split(texts[to], ' ')) {
            auto const rank = parse_integer<int>(word);
            auto const file = rank ? holders.find(*rank) : holders.end();
            if (file == holders.end()) continue;
            auto& have = now_have[*rank];
            if (have.empty()) {
                have = file->second.ranks;
                // The ranks of a node share the work.
                std::ranges::rotate(have, have.begin() + *rank % std::ssize(have));
            }
            if (nodes_[to] == node_) needed += file->second.size_bytes;
            auto const first = count[*rank]++ / 2;
            for (std::size_t i = 0; i < have.size(); ++i) {
                auto const from = have[(first + i) % have.size()];
                if (nodes_[static_cast<std::size_t>(from)] == nodes_[to]) continue;
                transfers.push_back({{id.run, id.steps, *rank, id.ranks},
                                     from,
                                     static_cast<int>(to),
                                     file->second.size_bytes});
                have.push_back(static_cast<int>(to));
                break;
            }
        }
    }
    if (transfers.empty()) return Status(Ok{});
    // No rank takes memory before all of its node have measured what is left.
    if (auto const by_all = agree_on_status(peers_, check_room(needed)); !by_all) return by_all;
    std::map<int, MappedFile> into;
    auto exchanged = exchange(messages, id, holders, wanted, transfers, files, into);
    // What did not become a snapshot must not hold memory.
    if (auto const directory = make_memory_directory(place_)) {
        for (auto const& [rank, file] : into)
            (void)::unlink(fetched_path(*directory, rank, id.ranks).c_str());
    }
    return exchanged;
}

Result<Status> SnapshotFetch::exchange(RankMessages& messages, SnapshotId const& id,
                                       SnapshotHolders const& holders, std::vector<int> const& wanted,
                                       std::vector<Transfer> const& transfers, MemoryFiles& files,
                                       std::map<int, MappedFile>& into) const {
    auto const prepared = prepare(id, holders, wanted, into);
    if (auto const by_all = agree_on_status(peers_, prepared); !by_all) return by_all;
    Status status = Ok{};
    for (auto const& transfer : transfers) {
        if (transfer.from == peers_.rank()) DET_TRY(send(messages, files, transfer));
        if (transfer.to != peers_.rank()) continue;
        DET_TRY_ASSIGN(auto const received, receive(messages, files, transfer, into.at(transfer.name.rank)));
        if (status) status = received;
    }
    return status;
}

fs::path SnapshotFetch::fetched_path(fs::path const& directory, int rank, int ranks) const {
    return directory / fmt::format("fetched-{}of{}", rank, ranks);
}

Status SnapshotFetch::prepare(SnapshotId const& id, SnapshotHolders const& holders,
                              std::vector<int> const& wanted, std::map<int, MappedFile>& into) const {
    DET_TRY_ASSIGN(auto const directory, make_memory_directory(place_));
    for (auto const rank : wanted) {
        auto const file = holders.find(rank);
        if (file == holders.end()) continue;
        auto const path = fetched_path(directory, rank, id.ranks);
        (void)::unlink(path.c_str());  // of a run that was killed while it wrote
        DET_TRY_ASSIGN(into[rank], MappedFile::create(path));
        DET_TRY(into[rank].resize(file->second.size_bytes));
    }
    return Ok{};
}

Status SnapshotFetch::send(RankMessages& messages, MemoryFiles const& files, Transfer const& transfer) const {
    auto const found = files.find(transfer.name);
    auto const file = found == files.end() ? Result<MappedFile>(MappedFile())
                                           : MappedFile::open(found->second / to_string(transfer.name));
    // Of a file that is gone, or has another size than the receiver expects, only "no" is sent.
    bool const is_right = file && file->bytes().size() == transfer.size_bytes;
    std::byte const answer{static_cast<unsigned char>(is_right ? 1 : 0)};
    DET_TRY(messages.transfer(RankMessages::Outgoing{transfer.to, std::span(&answer, 1)}, std::nullopt));
    if (!is_right) return Ok{};
    return messages.transfer(RankMessages::Outgoing{transfer.to, file->bytes()}, std::nullopt);
}

Result<Status> SnapshotFetch::receive(RankMessages& messages, MemoryFiles& files, Transfer const& transfer,
                                      MappedFile const& into) const {
    std::byte answer{};
    DET_TRY(messages.transfer(std::nullopt, RankMessages::Incoming{transfer.from, std::span(&answer, 1)}));
    bool const is_sent = answer != std::byte{0};
    if (is_sent)
        DET_TRY(messages.transfer(std::nullopt, RankMessages::Incoming{transfer.from, into.bytes()}));
    if (!is_sent || !is_complete_memory_file(into.bytes()))
        return Status(Error{codes::checkpoint_damaged,
                            fmt::format("the copy of '{}' that another node sent is damaged or absent",
                                        to_string(transfer.name))});
    auto const directory = make_memory_directory(place_);
    if (!directory) return Status(directory.error());
    auto const renamed = rename_file(fetched_path(*directory, transfer.name.rank, transfer.name.ranks),
                                     *directory / to_string(transfer.name));
    if (renamed) files[transfer.name] = *directory;
    return renamed;
}

}  // namespace det::checkpoint
