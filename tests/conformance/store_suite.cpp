#include "store_suite.hpp"

#include <det/checkpoint/load.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include "expectation.hpp"

namespace det::checkpoint {
namespace {

using Files = std::map<std::string, std::string>;

Status yes() { return Ok{}; }
bool all(std::string const&) { return true; }

Store::Description describe(std::string const& uuid) {
    return {uuid, "7.0.0", 100, UtcTime{1}, 1, Json{{"steps_completed", 100}}};
}

/// Unusual file names and sizes.
Files some_files() {
    return {{"weights.bin", "bytes"},
            {"empty", ""},
            {"shards/rank 0+1&2=3%.bin", std::string(100'000, 'a')},
            {"shards/deep/\xc3\xa4'~<x>.bin", "umlaut"},
            {"large.bin", std::string(12'000'001, 'l')}};
}

Result<CheckpointManifest> write(Store& store, std::string const& uuid, Files const& files,
                                 MayCommit const& may_commit = yes) {
    DET_TRY_ASSIGN(auto const directory, store.create_directory(uuid));
    for (auto const& [path, bytes] : files) {
        DET_TRY(make_directories((directory / path).parent_path()));
        DET_TRY(write_file(directory / path, bytes));
    }
    return store.commit(describe(uuid), may_commit);
}

Status expect_absent(Store& store, std::string const& uuid) {
    auto const found = store.load_manifest(uuid);
    return expect(!found && found.error().code == codes::no_such_checkpoint, "there is no such checkpoint");
}

Status a_committed_checkpoint_can_be_found_and_read(Store& store) {
    auto const uuid = make_uuid();
    auto const files = some_files();
    DET_TRY_ASSIGN(auto const manifest, write(store, uuid, files));
    DET_TRY_ASSIGN(auto const found, store.load_manifest(uuid));
    DET_TRY(expect(found == manifest, "the manifest that was committed"));
    DET_TRY(expect(found.files.size() == files.size() + 1, "all files, and metadata.json"));
    DET_TRY(store.verify_on_disk(uuid));
    DET_TRY_ASSIGN(auto const directory, store.fetch(found, all));
    for (auto const& [path, bytes] : files) {
        DET_TRY_ASSIGN(auto const read, read_file(directory / path));
        DET_TRY(expect(read == bytes, "the bytes of " + path));
    }
    return Ok{};
}

Status fetch_can_select_files(Store& store) {
    auto const uuid = make_uuid();
    DET_TRY_ASSIGN(auto const manifest, write(store, uuid, some_files()));
    DET_TRY_ASSIGN(auto const directory,
                   store.fetch(manifest, [](auto const& path) { return path == "weights.bin"; }));
    DET_TRY_ASSIGN(auto const read, read_file(directory / "weights.bin"));
    return expect(read == "bytes", "its bytes");
}

Status files_without_a_manifest_are_no_checkpoint(Store& store) {
    auto const uuid = make_uuid();
    DET_TRY_ASSIGN(auto const directory, store.create_directory(uuid));
    DET_TRY(write_file(directory / "weights.bin", "bytes"));
    std::vector<CheckpointFile> files{{"weights.bin", 5, crc32c("bytes")}};
    DET_TRY(store.put_files(uuid, files));
    DET_TRY(expect_absent(store, uuid));
    DET_TRY_ASSIGN(auto const listed, store.list());
    DET_TRY(expect(std::ranges::count(listed, uuid) == 1, "it is listed, so that it can be removed"));
    DET_TRY(store.remove(uuid));
    DET_TRY_ASSIGN(auto const left, store.list());
    return expect(std::ranges::count(left, uuid) == 0, "nothing of it is left");
}

Status a_refused_commit_makes_no_checkpoint(Store& store) {
    auto const uuid = make_uuid();
    auto const fenced = write(store, uuid, {{"a", "b"}}, [] {
        return Status(Error{codes::superseded, "a newer incarnation runs"});
    });
    DET_TRY(expect(!fenced && fenced.error().code == codes::superseded, "the reason"));
    return expect_absent(store, uuid);
}

Status removing_a_checkpoint_does_not_affect_others(Store& store) {
    auto const removed = make_uuid(), other = make_uuid();
    for (auto const& uuid : {removed, other}) DET_TRY(write(store, uuid, {{"a/b", uuid}}));
    DET_TRY(store.remove(removed));
    DET_TRY(store.remove(removed));
    DET_TRY(expect_absent(store, removed));
    DET_TRY_ASSIGN(auto const listed, store.list());
    DET_TRY(expect(std::ranges::count(listed, removed) == 0 && std::ranges::count(listed, other) == 1,
                   "the other is listed"));
    DET_TRY(store.verify_on_disk(other));
    return Ok{};
}

Status single_files_of_a_checkpoint_can_be_removed(Store& store) {
    auto const uuid = make_uuid();
    DET_TRY(write(store, uuid, {{"a", "1"}, {"b/c", "2"}}));
    std::string sum;
    DET_TRY(store.remove_files(uuid, {"b/c", "never there"}, [&](auto const& changed) {
        sum = changed;
        return Status(Ok{});
    }));
    DET_TRY_ASSIGN(auto const whole, store.fetch_and_verify(uuid));
    DET_TRY(expect(whole.manifest.sha256 == sum, "the SHA-256 of the new manifest"));
    DET_TRY(expect(whole.manifest.files.size() == 2, "a, and metadata.json"));
    DET_TRY_ASSIGN(auto const left, read_file(whole.directory / "a"));
    return expect(left == "1" && store.address_of(uuid).ends_with("/" + uuid), "the file that stays");
}

Status an_invalid_uuid_names_no_checkpoint(Store& store) {
    DET_TRY(expect_absent(store, make_uuid()));
    DET_TRY(expect_absent(store, "../escape"));
    auto const removed = store.remove("..");
    return expect(!removed && removed.error().code == codes::no_such_checkpoint, "nothing is removed");
}

Status a_file_named_manifest_is_refused(Store& store) {
    auto const uuid = make_uuid();
    auto const refused = write(store, uuid, {{"manifest", "mine"}});
    return expect(!refused && refused.error().code == codes::bad_value, "it is refused");
}

Status tensors_are_saved_and_loaded(Store& store) {
    NoPeers alone;
    std::vector<float> weights(700'001);
    std::iota(weights.begin(), weights.end(), 1.0F);
    auto const expected = weights;
    State const state{NamedTensor::whole("w", DataType::float32, {weights.size()}, weights.data())};
    Saver saver(alone, store);
    DET_TRY_ASSIGN(auto const begun, saver.save({"7.0.0", 1, UtcTime{1}, Json::object()}, state));
    DET_TRY_ASSIGN(auto const ended, saver.finish());
    if (ended.at(0).error) return *ended[0].error;
    std::ranges::fill(weights, 0.0F);
    DET_TRY_ASSIGN(auto const loaded, load(alone, store, {begun.uuid}, state, OnDamage::fail));
    return expect(loaded && weights == expected, "what was saved");
}

constexpr StoreCase cases[] = {
    {"a committed checkpoint can be found and read", a_committed_checkpoint_can_be_found_and_read},
    {"fetch can select files", fetch_can_select_files},
    {"files without a manifest are no checkpoint", files_without_a_manifest_are_no_checkpoint},
    {"a refused commit makes no checkpoint", a_refused_commit_makes_no_checkpoint},
    {"removing a checkpoint does not affect others", removing_a_checkpoint_does_not_affect_others},
    {"single files of a checkpoint can be removed", single_files_of_a_checkpoint_can_be_removed},
    {"an invalid uuid names no checkpoint", an_invalid_uuid_names_no_checkpoint},
    {"a file named manifest is refused", a_file_named_manifest_is_refused},
    {"tensors are saved and loaded", tensors_are_saved_and_loaded},
};

}  // namespace

std::span<StoreCase const> store_cases() { return cases; }

}  // namespace det::checkpoint
