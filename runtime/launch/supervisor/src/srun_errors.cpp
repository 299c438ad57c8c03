#include "srun_errors.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fstream>

namespace det::launch::supervisor {

std::string read_output_part(std::filesystem::path const& output, std::uint64_t begin_bytes) {
    std::string text(output_part_bytes, '\0');
    std::ifstream file(output, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(begin_bytes));
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

std::vector<std::string> find_srun_errors(std::filesystem::path const& output, std::uint64_t begin_bytes,
                                          std::uint64_t end_bytes) {
    constexpr std::string_view mark = "srun: error: ";
    std::vector<std::string> errors;
    if (end_bytes <= begin_bytes) return errors;
    auto text = read_output_part(output, begin_bytes);
    text.resize(std::min<std::uint64_t>(text.size(), end_bytes - begin_bytes));
    for (auto const line : split_lines(text)) {
        if (line.starts_with(mark)) errors.emplace_back(trim(line.substr(mark.size())));
    }
    return errors;
}

std::vector<std::string> find_lost_hosts(std::string_view error, std::vector<std::string> const& hosts,
                                         bool is_script) {
    constexpr std::string_view names_begin = "Node failure on ",
                               index_begin = "Cannot communicate with node ";
    if (error.starts_with(names_begin)) {
        auto lost = expand_host_list(error.substr(names_begin.size())).value_or(std::vector<std::string>());
        std::erase_if(lost, [&](auto const& host) { return std::ranges::find(hosts, host) == hosts.end(); });
        return lost;
    }
    if (is_script || !error.starts_with(index_begin)) return {};
    auto const rest = error.substr(index_begin.size());
    auto const index = parse_integer<std::size_t>(rest.substr(0, rest.find('.')));
    if (!index || *index >= hosts.size()) return {};
    return {hosts[*index]};
}

std::string_view find_refused_host(std::string_view error) {
    constexpr std::string_view begin = "Task launch for ", before_host = " failed on node ";
    auto const at = error.find(before_host);
    if (!error.starts_with(begin) || at == error.npos) return {};
    auto const rest = error.substr(at + before_host.size());
    return rest.substr(0, rest.find(':'));
}

}  // namespace det::launch::supervisor
