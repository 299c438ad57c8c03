// Texts of 10 MB: each parser ends within the time limit, or refuses the text.
#include <det/config/layers.hpp>
#include <det/config/sbatch_args.hpp>
#include <det/config/site_file.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/search/rung.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>
#include <det/slurm/partition.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <functional>

#include "cpu_time.hpp"
#include "ignore.hpp"

using namespace det;

namespace large_inputs_test {

constexpr std::size_t size_bytes = 10'000'000;

/// `start`, then lines or items made of their numbers until the text has 10 MB, then `end`.
std::string grow(std::string_view start, std::function<std::string(std::size_t)> const& item,
                 std::string_view end = "") {
    std::string text(start);
    for (std::size_t i = 0; text.size() < size_bytes; ++i) text += item(i);
    text += end;
    return text;
}

std::string repeat(std::string_view part) {
    return grow("", [&](std::size_t) { return std::string(part); });
}

struct Parser {
    std::string name;
    std::function<void(std::string const&)> parse;
};

std::vector<Parser> const parsers{
    {"the configuration", [](auto const& text) { (void)config::parse_layer(text, "x.yaml"); }},
    {"--config", [](auto const& text) { (void)config::parse_override("data=" + text); }},
    {"the site file", [](auto const& text) { (void)config::parse_site_file(text, "site.yaml"); }},
    {"spec.json", [](auto const& text) { (void)parse_spec(text); }},
    {"an event", [](auto const& text) { (void)parse_event(text); }},
    {"any document", [](auto const& text) { (void)parse_any_document(text); }},
    {"a manifest", [](auto const& text) { (void)parse_manifest(text); }},
    {"ClusterInfo", [](auto const& text) { (void)parse_cluster_info(text); }},
    {"a journal", [](auto const& text) { (void)journal::parse_journal(text); }},
    {"a host list", [](auto const& text) { (void)expand_host_list(text); }},
    {"task counts", [](auto const& text) { (void)expand_counts(text); }},
    {"trial ranges", [](auto const& text) { (void)search::parse_trial_ranges(text); }},
    {"squeue", [](auto const& text) { (void)slurm::parse_squeue(text, "|"); }},
    {"scontrol show partition", [](auto const& text) { (void)slurm::parse_partitions_without_nodes(text); }},
    {"sinfo", [](auto const& text) { (void)slurm::parse_nodes(text); }},
    {"a .detignore",
     [](auto const& text) {
         pack::IgnoreRules rules;
         rules.add(text);
         for (int i = 0; i < 10; ++i) (void)rules.ignores("a/b/train.py", pack::EntryKind::file);
     }},
    {"sbatch_args", [](auto const& text) { (void)config::parse_sbatch_args(std::vector{text}); }},
};

struct Text {
    std::string name;
    std::string bytes;
};

std::vector<Text> const texts{
    {"zeros", std::string(size_bytes, '\0')},
    {"one long word", std::string(size_bytes, 'x')},
    {"blanks", std::string(size_bytes, ' ')},
    {"line breaks", std::string(size_bytes, '\n')},
    {"open brackets", std::string(size_bytes, '[')},
    {"open braces", std::string(size_bytes, '{')},
    {"quotes", std::string(size_bytes, '"')},
    {"separators", repeat("|")},
    {"commas", repeat("1,")},
    {"no UTF-8", std::string(size_bytes, '\xff')},
    {"keys of a mapping", grow("", [](auto i) { return fmt::format("key{}: {}\n", i, i); })},
    {"one key again and again", repeat("key: 1\n")},
    {"keys on one line", grow(
                             "data: {", [](auto i) { return fmt::format("k{}: {}, ", i, i); }, "}\n")},
    {"items", grow("data:\n", [](auto i) { return fmt::format("- {}\n", i); })},
    {"anchors", grow(
                    "data: [", [](auto i) { return fmt::format("&a{} {}, ", i, i); }, "]\n")},
    {"aliases", grow(
                    "a: &a [1, 2]\ndata: [", [](auto) { return std::string("*a, "); }, "]\n")},
    {"deep indentation", grow("", [](auto i) { return std::string(i, ' ') + "a:\n"; })},
    {"JSON", grow(
                 "{\"det\": \"event/1\", \"body\": {\"a\": [", [](auto i) { return fmt::format("{}, ", i); },
                 "0]}}")},
    {"JSON keys", grow(
                      "{\"det\": \"event/1\", \"body\": {",
                      [](auto i) { return fmt::format("\"k{}\": {}, ", i, i); }, "\"z\": 0}}")},
    {"empty frames of a journal",
     grow(journal::render_header(), [](auto) { return journal::render_frame(60'000, ""); })},
    {"frames between heads of large frames", grow(journal::render_header(),
                                                  [](auto) {
                                                      return journal::render_frame(60'000, "") +
                                                             std::string("\0\0\x50\0\1\0\0\0abcd", 12);
                                                  })},
    {"host names", grow(
                       "", [](auto i) { return fmt::format("n{},", i); }, "n")},
    {"host ranges", repeat("n[0-99999],")},
    {"nested host brackets", repeat("n[0-9]")},
    {"counts", repeat("1(x999999),")},
    {"trial numbers", grow(
                          "", [](auto i) { return fmt::format("{},", 2 * i); }, "9999999")},
    {"assignments", repeat("PartitionName=a State=UP ")},
    {"patterns", repeat("**/a*b*c*d/[a-z]?/*\n")},
};

}  // namespace large_inputs_test

BOOST_AUTO_TEST_SUITE(large_inputs_test)

BOOST_AUTO_TEST_CASE(no_parser_needs_more_than_the_time_limit_for_10_mb) {
    for (auto const& text : texts) {
        for (auto const& parser : parsers) {
            // The first part is below the size limit of some formats.
            auto const time = cpu_time_s([&] {
                parser.parse(text.bytes);
                parser.parse(text.bytes.substr(0, 1'000'000));
            });
            BOOST_TEST(time < cpu_limit_s, parser.name << " took " << time << " s for " << text.name);
            if (time > cpu_limit_s / 4)
                BOOST_TEST_MESSAGE(parser.name << ": " << time << " s for " << text.name);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
