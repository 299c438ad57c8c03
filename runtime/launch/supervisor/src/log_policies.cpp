#include "log_policies.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <re2/re2.h>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

constexpr std::size_t block_size_bytes = std::size_t{1} << 20;
// Only the beginning of a longer line is matched
constexpr std::size_t line_limit_bytes = std::size_t{64} << 10;

struct Policy {
    LogPolicySpec const* spec;
    std::unique_ptr<RE2> pattern;
};

Result<std::vector<Policy>> compile(std::vector<LogPolicySpec> const& specs) {
    std::vector<Policy> policies;
    for (auto const& spec : specs) {
        auto pattern = std::make_unique<RE2>(spec.pattern, RE2::Quiet);
        if (!pattern->ok()) {
            return Error{codes::bad_value, fmt::format("the pattern of the log policy '{}' is no regular "
                                                       "expression: {}",
                                                       spec.name, pattern->error())};
        }
        policies.push_back({&spec, std::move(pattern)});
    }
    return policies;
}

void match_line(std::string_view line, int node, std::vector<Policy>& open, PolicyMatches& found) {
    std::erase_if(open, [&](Policy const& policy) {
        if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *policy.pattern)) return false;
        auto const& name = policy.spec->name;
        if (policy.spec->action == LogAction::label) {
            if (std::find(found.labels.begin(), found.labels.end(), name) == found.labels.end())
                found.labels.push_back(name);
        } else if (policy.spec->action == LogAction::cancel_retries) {
            found.cancel_retries_policy = name;
        } else if (found.bad_nodes.empty() || found.bad_nodes.back() != node) {
            if (found.bad_nodes.empty()) found.bad_nodes_policy = name;
            found.bad_nodes.push_back(node);
        }
        return true;  // one match per node is enough
    });
}

/// Calls take(line) for each line of a file; the last line may lack its newline.
template <class Take>
Status for_each_line(std::filesystem::path const& path, Take take) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return Ok{};
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    std::string block(block_size_bytes, '\0'), rest;
    for (;;) {
        auto const count = ::read(file.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        if (count == 0) break;
        std::string_view bytes(block.data(), static_cast<std::size_t>(count));
        for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
            if (rest.empty()) {
                take(bytes.substr(0, std::min(end, line_limit_bytes)));
            } else {
                rest.append(bytes.substr(0, std::min(end, line_limit_bytes)));
                take(std::string_view(rest).substr(0, line_limit_bytes));
                rest.clear();
            }
            bytes.remove_prefix(end + 1);
        }
        if (rest.size() < line_limit_bytes) rest.append(bytes.substr(0, line_limit_bytes));
    }
    if (!rest.empty()) take(rest);
    return Ok{};
}

}  // namespace

Result<PolicyMatches> match_log_policies(std::vector<LogPolicySpec> const& specs, RunLayout const& run,
                                         int nodes) {
    PolicyMatches found;
    if (specs.empty()) return found;
    for (int node = 0; node < nodes; ++node) {
        DET_TRY_ASSIGN(auto open, compile(specs));
        DET_TRY(for_each_line(run.node_log(node), [&](std::string_view line) {
            if (!open.empty()) match_line(line, node, open, found);
        }));
    }
    return found;
}

}  // namespace det::launch::supervisor
