#include "log_follower.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fstream>

#include "experiment_watch.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

constexpr std::size_t piece_bytes_max = std::size_t{4} << 20;  // of a file, in one glance

/// The whole lines behind `from`; nothing where there are none yet.
std::string read_lines(std::filesystem::path const& path, std::size_t from) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(from));
    std::string text(piece_bytes_max, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    auto const end = text.rfind('\n');
    // A line that fills a whole piece is handed on as it is.
    if (end != std::string::npos || text.size() < piece_bytes_max) text.resize(end + 1);
    return text;
}

}  // namespace

Status LogFollower::read_news_of(std::uint32_t run, LogSink const& sink) {
    auto const directory = trial_.run(run).path();
    DET_TRY_ASSIGN(auto const names, list_directory(directory));
    std::vector<std::string> texts;
    std::vector<int> nodes;
    for (auto const& name : names) {
        auto const node = node_of_log(name);
        if (!node) continue;
        auto& done = read_bytes_[directory / name];
        texts.push_back(read_lines(directory / name, done));
        nodes.push_back(*node);
        done += texts.back().size();
    }
    std::vector<LogLine> lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        for (auto const line : split_lines(texts[i])) {
            lines.push_back(parse_log_line(line));
            lines.back().node = nodes[i];
        }
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](auto const& a, auto const& b) { return a.time < b.time; });
    for (auto const& line : lines) sink(run, line);
    return Ok{};
}

Status LogFollower::read_news(LogSink const& sink) {
    DET_TRY_ASSIGN(auto const names, list_directory(trial_.runs()));
    std::vector<std::uint32_t> runs;
    for (auto const& name : names) {
        if (auto const run = parse_integer<std::uint32_t>(name)) runs.push_back(*run);
    }
    std::sort(runs.begin(), runs.end());
    for (auto const run : runs) DET_TRY(read_news_of(run, sink));
    return Ok{};
}

Result<lifecycle::State> follow_trial(RootLayout const& root, TrialId id, LogSink const& sink,
                                      Session& session) {
    ExperimentWatch watch(root, id.experiment, session);
    LogFollower follower(ExperimentLayout(root, id.experiment).trial(id.index));
    for (;;) {
        DET_TRY_ASSIGN(auto const view, watch.look());
        DET_TRY_ASSIGN(auto const trial, require_trial(view, id));
        DET_TRY(follower.read_news(sink));  // after the look: what it printed last is there
        if (is_settled(trial.state)) return trial.state;
        watch.pause();
    }
}

}  // namespace det::cli
