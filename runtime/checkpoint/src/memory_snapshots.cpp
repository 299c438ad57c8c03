#include <det/checkpoint/error_exchange.hpp>
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/thread_pool.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <future>
#include <map>
#include <sched.h>
#include <set>
#include <unistd.h>

#include "memory_file.hpp"
#include "memory_needs.hpp"
#include "parallel.hpp"
#include "partner_copies.hpp"
#include "snapshot.hpp"
#include "snapshot_fetch.hpp"
#include "snapshot_files.hpp"
#include "snapshot_reader.hpp"

namespace det::checkpoint {
namespace fs = std::filesystem;

std::string memory_snapshot_name(std::uint32_t run, std::uint64_t steps) {
    return fmt::format("memory-{}-{}", run, steps);
}

bool is_memory_snapshot_name(std::string_view name) { return name.starts_with("memory-"); }

class MemorySnapshots::Impl {
public:
    Impl(Peers& peers, MemorySnapshotOptions options)
        : peers_(peers),
          options_(std::move(options)),
          files_(options_.place, peers.rank(), peers.size()),
          fetch_(peers, options_.place, options_.node),
          reader_(peers, options_.place) {}

    ~Impl() { finish(); }
    Impl(Impl const&) = delete;
    Impl& operator=(Impl const&) = delete;

    bool is_off() const { return is_off_; }
    void finish() {
        if (!is_in_fork()) (void)finish_last();
    }
    /// Whether this process is a child of os.fork(), which has none of the threads.
    bool is_in_fork() const { return ::getpid() != process_; }
    void use_devices(tensor::DeviceCopies* devices) { options_.devices = devices; }

    // The ranks exchange one text per call, because a call blocks the training; a second time only if memory
    // has to be taken.
    Result<bool> keep(std::uint64_t steps, JsonValue const& metadata, State const& state) {
        if (is_off_) return false;
        DET_TRY(begin_copies());
        MemoryFileName const name{options_.run, steps, peers_.rank(), peers_.size()};
        auto const plan = plan_for(name, metadata, state);
        bool const is_copying = copies_ && is_copying_;
        auto own = is_copying ? Status(Ok{}) : finish_last();
        if (own && !plan) own = plan.error();
        DET_TRY_ASSIGN(auto const needs, MemoryNeeds::exchange(peers_, needs_of(own, plan, is_copying)));
        // No rank overwrites a file, or takes memory, before all are here.
        if (needs.is_any_copying()) return false;
        bool can_all_keep = needs.can_all_keep(), can_all_copy = needs.can_all_copy();
        if (can_all_keep && needs.is_memory_needed()) {
            auto const lacks = needs.own_bytes(options_.node);
            own = check_room(lacks, "the snapshots of this node's ranks");
            if (copies_status_)
                copies_status_ =
                    check_room(lacks + needs.copies_bytes(options_.node),
                               "the snapshots of this node's ranks and of those of another node");
            std::int64_t agreed[] = {own ? 1 : 0, copies_status_ ? 1 : 0};
            DET_TRY(peers_.allreduce_min(agreed));
            can_all_keep = agreed[0] != 0;
            can_all_copy = agreed[1] != 0;
        }
        if (!can_all_keep) {
            give_up(own);
            if (!own && own.error().code == codes::misuse) return own.error();
            return false;
        }
        if (!can_all_copy) end_copies();
        if (begun_ && needs.are_all_complete()) confirm(*begun_);
        begun_ = id_of(name);
        write(*plan, name, state, copies_ ? needs.size_of(copies_->source()) : 0);
        return true;
    }

    Result<std::optional<LoadedSnapshot>> load(State const& state, std::uint64_t steps) {
        (void)finish_last();
        auto files = list_loadable_files(steps);
        DET_TRY_ASSIGN(auto const candidates, fetch_.find(files));
        std::vector<Error> passed_over;
        for (auto const& [id, holders] : reversed(candidates)) {
            if (holders.size() != static_cast<std::size_t>(id.ranks)) continue;
            auto const needed = id.ranks == peers_.size() ? Fetched::own : Fetched::of_all_ranks;
            DET_TRY_ASSIGN(auto fetched, fetch_missing(files, id, holders, needed));
            if (needed == Fetched::of_all_ranks) {
                fetched = agree_on_status(peers_, fetched);
                files = list_loadable_files(steps);  // another rank of the node has fetched
            }
            auto manifest = fetched ? reader_.load(files, id, state, options_.devices)
                                    : Result<CheckpointManifest>(fetched.error());
            auto const by_all = agree_on_status(peers_, manifest ? Status(Ok{}) : Status(manifest.error()));
            if (!by_all) {
                passed_over.push_back(by_all.error());
                continue;
            }
            DET_TRY_ASSIGN(auto const metadata, peers_.broadcast(to_line(*manifest->metadata)));
            DET_TRY_ASSIGN(manifest->metadata,
                           decode_json("the metadata", [&] { return parse_json(metadata); }));
            confirmed_ = id;
            LoadedSnapshot found{{*std::move(manifest), std::move(passed_over), true}, id.run};
            return std::optional(std::move(found));
        }
        for (auto const& error : passed_over) {
            if (peers_.is_chief())
                warn("a state that was kept in memory is not used, but the checkpoint: " + error.message);
        }
        return std::optional<LoadedSnapshot>();
    }

    Status fetch(std::uint64_t steps) {
        if (!options_.open_messages) return Ok{};
        (void)finish_last();
        auto files = list_loadable_files(steps);
        DET_TRY_ASSIGN(auto const candidates, fetch_.find(files));
        for (auto const& [id, holders] : reversed(candidates)) {
            if (holders.size() != static_cast<std::size_t>(id.ranks)) continue;
            DET_TRY_ASSIGN(auto const fetched, fetch_missing(files, id, holders, Fetched::of_all_ranks));
            auto const by_all = agree_on_status(peers_, fetched);
            if (by_all) return Ok{};
            if (peers_.is_chief())
                warn("a state that was kept in memory is not used: " + by_all.error().message);
        }
        return Ok{};
    }

    std::vector<std::string> list(std::uint64_t steps) const {
        std::vector<std::string> names;
        for (auto const& id : list_whole(steps)) names.push_back(memory_snapshot_name(id.run, id.steps));
        return names;
    }

    Result<CheckpointManifest> load_manifest(std::string const& name) const {
        DET_TRY_ASSIGN(auto const id, find_named(name));
        return reader_.load_manifest(id);
    }

    Result<LoadedSnapshot> load_named(State const& state, std::string const& name) {
        auto const id = find_named(name);
        auto manifest = id ? reader_.load(list_memory_files(options_.place), *id, state, options_.devices)
                           : Result<CheckpointManifest>(id.error());
        DET_TRY(agree_on_status(peers_, manifest ? Status(Ok{}) : Status(manifest.error())));
        confirmed_ = *id;
        return LoadedSnapshot{{*std::move(manifest), {}, true}, id->run};
    }

private:
    /// How a snapshot ended. false: it does not count, and a later one may.
    struct Completion {
        Result<bool> own = true;
        Result<bool> copies = true;  // this rank's copy at its partner, and that of its source here
    };
    void warn(std::string const& text) const {
        if (options_.warn) options_.warn(text);
    }

    // Keeping.

    /// Waits for the last snapshot to be complete.
    /// \return the error of the last one, also if an earlier call has returned it
    Status finish_last() {
        if (!completion_.valid()) return last_status_;
        auto const completed = completion_.get();
        bool const is_own_complete = completed.own && *completed.own;
        bool const is_copied = completed.copies && *completed.copies;
        is_complete_ = is_own_complete && is_copied;
        if (!completed.own) last_status_ = completed.own.error();
        if (!completed.copies) copies_status_ = completed.copies.error();
        auto& slot = files_.holder_of(begun_);
        if (is_own_complete) slot.path = slot.path.parent_path() / to_string(name_of(*begun_));
        if (copies_) copies_->finish_exchange(is_copied);
        return last_status_;
    }

    // Copies for other nodes.

    /// Finds the partner of this rank, and connects the ranks, in the first call. Collective.
    Status begin_copies() {
        if (std::exchange(has_begun_copies_, true) || !options_.open_messages) return Ok{};
        DET_TRY_ASSIGN(auto const texts,
                       peers_.allgather(fmt::format("{} {}", options_.node, options_.switch_name)));
        std::vector<RankPlace> places;
        for (std::string_view const text : texts) {
            auto const space = std::min(text.find(' '), text.size() - 1);
            places.push_back(
                {parse_integer<int>(text.substr(0, space)).value_or(0), std::string(text.substr(space + 1))});
        }
        auto const partners = choose_partners(places);
        if (options_.is_first_of_node) remove_unneeded(places, partners);
        if (!partners) {
            if (peers_.is_chief())
                warn(
                    "the nodes have different numbers of ranks, so the state in memory is not copied to "
                    "other nodes");
            return Ok{};
        }
        DET_TRY(open_messages());
        if (messages_ == nullptr) return Ok{};
        auto const from = source_of(*partners, peers_.rank());
        copies_ = std::make_unique<PartnerCopies>(*messages_, options_.place,
                                                  (*partners)[static_cast<std::size_t>(peers_.rank())], from,
                                                  peers_.size());
        return Ok{};
    }

    static int source_of(std::vector<int> const& partners, int rank) {
        return static_cast<int>(std::ranges::find(partners, rank) - partners.begin());
    }

    /// Removes the files of ranks that are neither of this node nor sources of its ranks: those that load()
    /// has got from other nodes, and those of ranks that have moved. No run loads them any more. Their memory
    /// may be needed for this run's snapshots. Called when all ranks have begun to keep.
    void remove_unneeded(std::vector<RankPlace> const& places,
                         std::optional<std::vector<int>> const& partners) const {
        std::set<int> needed;
        for (std::size_t rank = 0; rank < places.size(); ++rank) {
            if (places[rank].node != options_.node) continue;
            needed.insert(static_cast<int>(rank));
            if (partners) needed.insert(source_of(*partners, static_cast<int>(rank)));
        }
        for (auto const& [name, directory] : list_memory_files(options_.place)) {
            if (name.run == options_.run || (name.ranks == peers_.size() && needed.contains(name.rank)))
                continue;
            (void)::unlink((directory / to_string(name)).c_str());
        }
    }

    /// Connects the ranks, in the first call. Collective.
    Status open_messages() {
        if (messages_ != nullptr || !options_.open_messages) return Ok{};
        DET_TRY_ASSIGN(messages_, options_.open_messages());
        return Ok{};
    }

    /// Ends the copying on all ranks; each goes on to keep its own snapshots.
    void end_copies() {
        if (!copies_) return;
        copies_->remove();
        copies_.reset();
        if (!copies_status_)
            warn("the state in memory is not copied to other nodes any more: " +
                 copies_status_.error().message);
        copies_status_ = Ok{};
    }

    MemoryFileName name_of(SnapshotId const& id) const { return {id.run, id.steps, peers_.rank(), id.ranks}; }

    static Result<ShardPlan> plan_for(MemoryFileName const& name, JsonValue const& metadata,
                                      State const& state) {
        DET_TRY(check_state(state));
        if (!metadata->is_object()) return Error{codes::misuse, "the metadata is not a JSON object"};
        return plan_memory_file(name, metadata, state);
    }

    /// All ranks have this snapshot.
    void confirm(SnapshotId const& id) {
        ++confirmed_count_;
        confirmed_ = id;
        if (!options_.is_first_of_node) return;
        if (confirmed_count_ == 1) remove_other_ranks(id.ranks);
        // Both files of each rank of this node have a snapshot of this run: no rank uses other ones.
        if (confirmed_count_ == 2) remove_other_runs();
    }

    /// Removes the files of ranks that have moved to other nodes.
    void remove_other_runs() const {
        for (auto const& [name, directory] : list_memory_files(options_.place)) {
            if (name.run != options_.run) (void)::unlink((directory / to_string(name)).c_str());
        }
    }

    /// Removes the files of runs with another number of ranks, which are of no more use.
    void remove_other_ranks(int ranks) const {
        for (auto const& directory : find_memory_directories(options_.place)) {
            for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
                auto const parsed = parse_memory_file_name(name);
                bool const is_other =
                    parsed ? parsed->ranks != ranks : name.find(fmt::format("of{}-", ranks)) == name.npos;
                if (is_other) (void)::unlink((directory / name).c_str());
            }
        }
    }

    /// \param own whether this rank can keep its state
    RankNeeds needs_of(Status const& own, Result<ShardPlan> const& plan, bool is_copying) {
        files_.open(confirmed_);
        RankNeeds needs;
        needs.node = options_.node;
        needs.is_copying = is_copying;
        needs.can_keep = own.has_value();
        needs.is_complete = is_complete_;
        needs.can_copy = copies_status_.has_value();
        if (own) {
            needs.size = plan->size_bytes;
            needs.lacks = lacking_bytes(files_.held_bytes(), plan->size_bytes);
        }
        if (copies_ && !is_copying) {
            needs.source = copies_->source();
            needs.held = copies_->held_bytes(confirmed_);
        }
        return needs;
    }

    /// Whether the node has so much memory left.
    Status check_room(std::uint64_t needed, std::string_view what) const {
        if (needed == 0) return Ok{};
        auto const available = options_.available_bytes ? options_.available_bytes()
                                                        : available_memory_bytes(options_.place.base);
        if (available >= needed) return Ok{};
        return Error{codes::file_system, fmt::format("{} need {} MiB, and {} MiB are free", what,
                                                     (needed >> 20) + 1, available >> 20)};
    }

    /// Copies the state; a thread computes the checksum, gives the file its name if
    /// MemorySnapshotOptions::may_complete() allows that, and exchanges it with other nodes. The next call
    /// reports an error.
    void write(ShardPlan const& plan, MemoryFileName const& name, State const& state,
               std::uint64_t source_bytes) {
        auto& slot = files_.choose(confirmed_);
        auto& other = files_.other_than(slot);
        auto status = files_.prepare(slot, plan.size_bytes);
        // Takes all memory now, while no other rank of the node measures what is left.
        if (status && !other.id) status = files_.prepare(other, plan.size_bytes);
        if (copies_) copies_->prepare(id_of(name), source_bytes, confirmed_);
        if (status) status = copy(plan, state, slot.file.bytes().data());
        slot.id = id_of(name);
        is_copying_ = true;
        auto const promise = std::make_shared<std::promise<Completion>>();
        completion_ = promise->get_future();
        in_background([this, promise, image = slot.file.bytes(), from = slot.path,
                       to = slot.path.parent_path() / to_string(name), status = std::move(status)] {
            Completion completed;
            completed.own = complete(image, from, to, status);
            bool const is_complete = completed.own && *completed.own;
            if (copies_) completed.copies = copies_->exchange(is_complete ? image : std::span<std::byte>());
            is_copying_ = false;
            promise->set_value(std::move(completed));
        });
    }

    /// One thread for all snapshots: to start one costs more than a tenth of the copy of a small state. If
    /// there are no more cores than ranks, a thread that wakes up would also take the core of the caller for
    /// some milliseconds; one of SCHED_BATCH waits for the next tick of the scheduler.
    void in_background(std::function<void()> work) {
        if (!thread_) {
            thread_ = std::make_unique<ThreadPool>(thread_name, 1);
            thread_->submit([] {
                sched_param const no_priority{};
                ::sched_setscheduler(0, SCHED_BATCH, &no_priority);
            });
        }
        thread_->submit(std::move(work));
    }

    /// Called by the thread.
    Result<bool> complete(std::span<std::byte> image, fs::path const& from, fs::path const& to,
                          Status const& status) const {
        DET_TRY(status);
        complete_memory_file(image);
        if (options_.may_complete && !options_.may_complete()) return false;
        DET_TRY(rename_file(from, to));
        return true;
    }

    Status copy(ShardPlan const& plan, State const& state, std::byte* image) const {
        DET_TRY_ASSIGN(auto const late,
                       take_snapshot(plan, state, image,
                                     {options_.copy_threads, options_.devices, [](std::uint64_t) {}}));
        return late ? late->finish() : Status(Ok{});
    }

    /// Ends the keeping of snapshots: removes the files of this rank, and those that a run with another
    /// number of ranks has left. After this call no rank writes a snapshot.
    void give_up(Status const& own) {
        is_off_ = true;
        files_.remove();
        copies_.reset();
        if (options_.is_first_of_node) {
            for (auto const& directory : find_memory_directories(options_.place)) {
                for (auto const& name : list_directory(directory).value_or(std::vector<std::string>()))
                    (void)::unlink((directory / name).c_str());
            }
        }
        auto const why = own ? std::string("another rank can't keep its own") : own.error().message;
        if (!own || peers_.is_chief())
            warn("the state is not kept in memory any more, only in checkpoints: " + why);
    }

    // Loading.

    /// Only the run just before has trained what this run continues.
    bool may_load(MemoryFileName const& name, std::uint64_t steps) const {
        return options_.run > 0 && name.run == options_.run - 1 && name.steps > steps;
    }

    /// The snapshots of which this node has the files of all ranks, newest first.
    std::vector<SnapshotId> list_whole(std::uint64_t steps) const {
        std::map<SnapshotId, int> counts;
        for (auto const& [name, directory] : list_memory_files(options_.place)) {
            if (may_load(name, steps)) ++counts[id_of(name)];
        }
        std::vector<SnapshotId> newest_first;
        for (auto const& [id, count] : reversed(counts)) {
            if (count == id.ranks) newest_first.push_back(id);
        }
        return newest_first;
    }

    Result<SnapshotId> find_named(std::string const& name) const {
        for (auto const& id : list_whole(0)) {
            if (memory_snapshot_name(id.run, id.steps) == name) return id;
        }
        return Error{codes::no_such_checkpoint, fmt::format("the memory of this node has no '{}'", name)};
    }

    /// The files of this node that this run may load.
    MemoryFiles list_loadable_files(std::uint64_t steps) const {
        auto files = list_memory_files(options_.place);
        std::erase_if(files, [&](auto const& file) { return !may_load(file.first, steps); });
        return files;
    }

    /// Which files a rank gets from other nodes: its own one, or, by the first rank of a node, those of all
    /// ranks.
    enum class Fetched { own, of_all_ranks };

    /// Gets the files that this node lacks, or has damaged, from other nodes. Collective.
    /// \return an Error in the outer Result only if the exchange between the ranks fails
    Result<Status> fetch_missing(MemoryFiles& files, SnapshotId const& id, SnapshotHolders const& holders,
                                 Fetched fetched) {
        if (!options_.open_messages) return Status(Ok{});
        std::vector<int> lacking;
        for (int rank = 0; rank < id.ranks; ++rank) {
            bool const is_wanted =
                fetched == Fetched::own ? rank == peers_.rank() : options_.is_first_of_node;
            if (is_wanted && !has_whole_file(files, {id.run, id.steps, rank, id.ranks}))
                lacking.push_back(rank);
        }
        std::int64_t has_all[] = {lacking.empty() ? 1 : 0};
        DET_TRY(peers_.allreduce_min(has_all));
        if (has_all[0] != 0) return Status(Ok{});
        DET_TRY(open_messages());
        if (messages_ == nullptr) return Status(Ok{});
        return fetch_.fetch(*messages_, id, holders, lacking, files, [this](std::uint64_t needed) {
            return check_room(needed, "the snapshots that other nodes have for this one");
        });
    }

    pid_t const process_ = ::getpid();
    Peers& peers_;
    MemorySnapshotOptions options_;
    SnapshotFiles files_;  // of this rank
    SnapshotFetch fetch_;
    SnapshotReader reader_;
    bool is_off_ = false;
    int confirmed_count_ = 0;              // in this run
    std::optional<SnapshotId> confirmed_;  // the newest that all ranks have, or that was loaded
    std::optional<SnapshotId> begun_;      // the last of this run
    Status last_status_ = Ok{};            // the error that ends the keeping
    bool is_complete_ = true;              // the last one of this rank, with its copies
    bool has_begun_copies_ = false;
    std::unique_ptr<RankMessages> messages_;
    std::unique_ptr<PartnerCopies> copies_;  // null: none are made
    Status copies_status_ = Ok{};            // the error that ends the copying
    std::atomic<bool> is_copying_ = false;
    std::future<Completion> completion_;
    std::unique_ptr<ThreadPool> thread_;  // declared last: uses the members before
};

MemorySnapshots::MemorySnapshots(Peers& peers, MemorySnapshotOptions options)
    : impl_(std::make_unique<Impl>(peers, std::move(options))) {}
MemorySnapshots::~MemorySnapshots() {
    // To wait for a thread that does not exist would never end; the files are those of the parent.
    if (impl_->is_in_fork()) (void)impl_.release();
}

Result<bool> MemorySnapshots::keep(std::uint64_t steps, JsonValue const& metadata, State const& state) {
    return impl_->keep(steps, metadata, state);
}
Status MemorySnapshots::fetch(std::uint64_t steps) { return impl_->fetch(steps); }
std::vector<std::string> MemorySnapshots::list(std::uint64_t steps) const { return impl_->list(steps); }
Result<CheckpointManifest> MemorySnapshots::load_manifest(std::string const& name) const {
    return impl_->load_manifest(name);
}
Result<MemorySnapshots::LoadedSnapshot> MemorySnapshots::load_named(State const& state,
                                                                    std::string const& name) {
    return impl_->load_named(state, name);
}
void MemorySnapshots::finish() { impl_->finish(); }
bool MemorySnapshots::is_off() const { return impl_->is_off(); }
void MemorySnapshots::use_devices(tensor::DeviceCopies* devices) { impl_->use_devices(devices); }
Result<std::optional<MemorySnapshots::LoadedSnapshot>> MemorySnapshots::load(State const& state,
                                                                             std::uint64_t steps) {
    return impl_->load(state, steps);
}

}  // namespace det::checkpoint
