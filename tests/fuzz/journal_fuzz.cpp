// Fuzzes the readers of journals, of the waits in journals, and of the index's columns. If the first byte of
// the input is 0, the rest is a journal. Otherwise the byte is the type of a record and the rest its payload;
// the record follows a metric-schema record with two columns.
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/waits/straggler.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "column_encoding.hpp"

namespace {

using namespace det;

void require(bool holds, char const* invariant) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", invariant);
    std::abort();
}

void check_journal(std::string_view bytes) {
    auto const contents = journal::parse_journal(bytes);
    if (!contents) return require(!contents.error().message.empty(), "an error says what is wrong");
    require(contents->good_size_bytes <= bytes.size(), "complete records are in the file");
    auto const again = journal::parse_journal(bytes.substr(0, contents->good_size_bytes));
    require(again && again->records.size() == contents->records.size(), "a torn tail changes no record");
    require(again->tail == journal::FrameState::end, "after the last complete record is the end");
    for (auto const& record : contents->records) {
        auto const encoded = encode_record(record);
        auto const decoded = decode_record(static_cast<std::uint16_t>(encoded.type), encoded.payload);
        require(decoded && decoded->has_value(), "what was read can be written and read");
        require(parse_record(to_json(record)).has_value(), "what was read can be dumped and read");
    }
}

void check_waits(std::string_view bytes) {
    telemetry::RunWaits waits;
    static_cast<void>(telemetry::add_waits(waits, bytes, 0, UtcTime{-1}));
    for (auto const& [rank, waited] : waits)
        require(rank >= 0 && std::isfinite(waited.waited_s()), "waits are of ranks, and are times");
    auto const found = telemetry::find_straggler(waits, std::chrono::seconds(60));
    require(!found || (found->share > 0 && found->share <= 1), "a share is a part of the period");
    require(telemetry::describe_waits(waits).size() <= waits.size(), "each rank is in one line");
}

std::string journal_with(std::uint16_t type, std::string_view payload) {
    constexpr std::string_view schema =
        R"({"id":0,"group":"training","columns":[["loss","real"],["epoch","integer"]]})";
    return journal::render_header() +
           journal::render_frame(static_cast<std::uint16_t>(RecordType::metric_schema), schema) +
           journal::render_frame(type, payload);
}

void check_columns(std::string_view bytes) {
    for (std::size_t const count : {bytes.size() / 8, bytes.size()}) {
        std::vector<std::uint64_t> integers;
        if (tracker::index::decode_integers(bytes, count, integers))
            require(integers.size() == count, "a column has as many integers as it should");
        std::vector<double> reals;
        if (tracker::index::decode_reals(bytes, count, reals))
            require(tracker::index::encode_reals(reals) == bytes, "reals are written as they were read");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<char const*>(data), size);
    if (bytes.empty()) return 0;
    auto const type = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    check_columns(bytes);
    auto const journal = type == 0 ? std::string(bytes) : journal_with(type, bytes);
    check_journal(journal);
    check_waits(journal);
    return 0;
}
