#include <det/protocol/json.hpp>
#include <det/protocol/preflight_facts.hpp>

#include <fmt/format.h>

#include "json_fields.hpp"

namespace det {
namespace {

constexpr char preflight_key[] = "preflight";
constexpr int preflight_version = 1;

void read_version(PreflightFacts&, Json const& json) { (void)json.get<int>(); }
void write_version(PreflightFacts const&, Json& json) { json = preflight_version; }

}  // namespace

template <>
inline constexpr JsonField json_fields<StorageFacts>[] = {
    field<&StorageFacts::error>("error"),
    field<&StorageFacts::write_bytes_per_s>("write_bytes_per_s"),
    field<&StorageFacts::free_bytes>("free_bytes"),
};

template <>
inline constexpr JsonField json_fields<PreflightFacts>[] = {
    computed_field<read_version, write_version>(preflight_key),
    field<&PreflightFacts::node>("node"),
    field<&PreflightFacts::index>("index"),
    field<&PreflightFacts::is_directory_same>("is_directory_same"),
    field<&PreflightFacts::program>("program"),
    field<&PreflightFacts::clock_offset_us>("clock_offset_us"),
    field<&PreflightFacts::path>("path"),
    field<&PreflightFacts::missing_programs>("missing_programs"),
    field<&PreflightFacts::limits>("limits"),
    field<&PreflightFacts::unresolved>("unresolved"),
    field<&PreflightFacts::interfaces>("interfaces"),
    field<&PreflightFacts::bytes_per_s>("bytes_per_s"),
    field<&PreflightFacts::gpus_allocated>("gpus_allocated"),
    field<&PreflightFacts::gpus_visible>("gpus_visible"),
    optional_field<&PreflightFacts::gpu_numa_nodes>("gpu_numa_nodes"),
    optional_field<&PreflightFacts::core_numa_nodes>("core_numa_nodes"),
    field<&PreflightFacts::runtime_error>("runtime_error"),
    field<&PreflightFacts::storage>("storage"),
};

std::string preflight_file_name(std::uint32_t index) { return fmt::format("node-{}.json", index); }

std::string render_preflight_facts(PreflightFacts const& facts) {
    return to_line(fields_to_json(facts)) + "\n";
}

Result<PreflightFacts> parse_preflight_facts(std::string_view text) {
    return fields_from_json<PreflightFacts>("preflight", try_parse_json(text));
}

}  // namespace det
