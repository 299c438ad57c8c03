#include <det/protocol/json.hpp>
#include <det/protocol/preflight_facts.hpp>

#include <fmt/format.h>

namespace det {
namespace {

constexpr char preflight_key[] = "preflight";
constexpr int preflight_version = 1;

}  // namespace

std::string preflight_file_name(std::uint32_t index) { return fmt::format("node-{}.json", index); }

std::string render_preflight_facts(PreflightFacts const& facts) {
    Json json{{preflight_key, preflight_version},
              {"node", facts.node},
              {"index", facts.index},
              {"is_directory_same", facts.is_directory_same},
              {"program", facts.program},
              {"clock_offset_us", facts.clock_offset_us},
              {"path", facts.path},
              {"missing_programs", facts.missing_programs},
              {"limits", facts.limits},
              {"unresolved", facts.unresolved},
              {"interfaces", facts.interfaces},
              {"bytes_per_s", facts.bytes_per_s ? Json(*facts.bytes_per_s) : Json(nullptr)},
              {"gpus_allocated", facts.gpus_allocated},
              {"gpus_visible", facts.gpus_visible},
              {"runtime_error", facts.runtime_error},
              {"storage", nullptr}};
    if (facts.storage)
        json["storage"] = {{"error", facts.storage->error},
                           {"write_bytes_per_s", facts.storage->write_bytes_per_s},
                           {"free_bytes", facts.storage->free_bytes}};
    return to_line(json) + "\n";
}

Result<PreflightFacts> parse_preflight_facts(std::string_view text) {
    auto const json = try_parse_json(text);
    return decode_json("preflight", [&] {
        PreflightFacts facts;
        (void)json.at(preflight_key).get<int>();
        facts.node = json.at("node");
        facts.index = json.at("index");
        facts.is_directory_same = json.at("is_directory_same");
        facts.program = json.at("program");
        facts.clock_offset_us = json.at("clock_offset_us");
        facts.path = json.at("path");
        facts.missing_programs = json.at("missing_programs").get<std::vector<std::string>>();
        facts.limits = json.at("limits").get<std::map<std::string, std::int64_t>>();
        facts.unresolved = json.at("unresolved").get<std::vector<std::string>>();
        facts.interfaces = json.at("interfaces");
        if (auto const& rate = json.at("bytes_per_s"); !rate.is_null())
            facts.bytes_per_s = rate.get<double>();
        facts.gpus_allocated = json.at("gpus_allocated");
        facts.gpus_visible = json.at("gpus_visible");
        facts.runtime_error = json.at("runtime_error");
        if (auto const& storage = json.at("storage"); !storage.is_null())
            facts.storage =
                StorageFacts{storage.at("error"), storage.at("write_bytes_per_s"), storage.at("free_bytes")};
        return facts;
    });
}

}  // namespace det
