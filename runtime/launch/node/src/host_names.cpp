#include "host_names.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/network_addresses.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::launch::node {
namespace {

constexpr std::chrono::seconds lookup_timeout{10};

/// The words of a line, separated by blanks, without its comment.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    line = line.substr(0, line.find('#'));
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
        auto const end = std::min(line.find_first_of(" \t\r", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

std::vector<std::string> ask_getent(std::string const& name, Environment const& environment) {
    Environment plain;
    plain.set("LC_ALL", "C");
    plain.set("PATH", environment.find_non_empty("PATH").value_or("/usr/bin:/bin"));
    SystemProcessRunner runner;
    auto const output = runner.run({{"getent", "ahosts", name}, plain, lookup_timeout});
    std::vector<std::string> addresses;
    if (!output) return addresses;
    for (auto const line : split_lines(output->out)) {
        std::string address(line.substr(0, line.find(' ')));
        if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(std::move(address));
    }
    return addresses;
}

}  // namespace

std::vector<std::string> find_in_hosts_file(std::string_view hosts_file, std::string_view name) {
    std::vector<std::string> addresses;
    auto const wanted = to_lower(name);
    for (auto const line : split_lines(hosts_file)) {
        auto const words = words_of(line);
        bool const names_it = std::ranges::any_of(words.begin() + (words.empty() ? 0 : 1), words.end(),
                                                  [&](auto word) { return to_lower(word) == wanted; });
        if (names_it) addresses.emplace_back(words.front());
    }
    return addresses;
}

bool hosts_file_comes_first(std::string_view nsswitch) {
    for (auto const line : split_lines(nsswitch)) {
        auto const words = words_of(line);
        if (words.size() > 1 && words[0] == "hosts:") return words[1] == "files";
    }
    return false;
}

std::vector<std::string> look_up_host(std::string const& name, Environment const& environment) {
    if (is_numeric_address(name)) return {name};
    if (hosts_file_comes_first(read_file("/etc/nsswitch.conf").value_or(""))) {
        auto addresses = find_in_hosts_file(read_file("/etc/hosts").value_or(""), name);
        if (!addresses.empty()) return addresses;
    }
    return ask_getent(name, environment);
}

}  // namespace det::launch::node
