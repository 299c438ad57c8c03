// bench-lines produce BYTES | sink | logs DIRECTORY LINES: the two ends of a pipe; and a generator of node
// logs of 16 ranks on 4 nodes.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace {

using namespace det;

constexpr std::size_t batch_bytes = std::size_t{80} << 10;

/// Writes lines of 80 bytes.
Status produce(std::size_t size_bytes) {
    std::string batch;
    while (batch.size() < batch_bytes) batch += std::string(79, 'x') + "\n";
    for (auto rest = size_bytes; rest > 0;) {
        auto const size = std::min(rest, batch.size());
        DET_TRY(write_all(STDOUT_FILENO, std::string_view(batch).substr(0, size), "lines"));
        rest -= size;
    }
    return Ok{};
}

Status sink() {
    std::string buffer(std::size_t{128} << 10, '\0');
    while (::read(STDIN_FILENO, buffer.data(), buffer.size()) > 0) {
    }
    return Ok{};
}

/// Creates a root with an experiment and the logs of its run. The lines of a node alternate between its four
/// ranks.
Status write_logs(std::filesystem::path const& directory, std::size_t lines) {
    constexpr int nodes = 4, ranks_per_node = 4;
    ExperimentLayout const experiment(RootLayout(directory), {1});
    auto const run = experiment.trial(0).run(0);
    DET_TRY(make_directories(run.path()));
    ExperimentSpec spec;
    spec.id = {1};
    DET_TRY(write_file(experiment.spec(), render_spec(spec)));
    for (int node = 0; node < nodes; ++node) {
        std::string text;
        for (std::size_t i = 0; i < lines / nodes; ++i) {
            UtcTime const time{1'795'262'400'000'000 + static_cast<std::int64_t>(i) * 100 + node};
            text +=
                fmt::format("{} [rank={}] step {:>7}: loss 0.{:06}, 812.5 samples/s, gradient norm {}\n",
                            format_utc(time), node * ranks_per_node + static_cast<int>(i % ranks_per_node), i,
                            i * 7919 % 1'000'000, i % 997);
        }
        DET_TRY(write_file(run.node_log(node), text));
    }
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    auto const what = arguments.empty() ? "" : arguments[0];
    auto const number = arguments.empty() ? 0 : parse_integer<std::size_t>(arguments.back()).value_or(0);
    Status done = Error{codes::usage, "bench-lines produce BYTES | sink | logs DIRECTORY LINES"};
    if (what == "produce" && number > 0) done = produce(number);
    if (what == "sink") done = sink();
    if (what == "logs" && number > 0 && arguments.size() == 3) done = write_logs(arguments[1], number);
    if (done) return 0;
    std::cerr << "bench-lines: error: " << done.error().message << '\n';
    return to_int(done.error().code.exit);
}
