// bench-pack make TREE: creates 20,000 files with 90 MiB, half like source code, half incompressible.
// bench-pack store TREE CONTEXTS: packs TREE as det-submit does.
#include <det/foundation/files.hpp>
#include <det/pack/pack.hpp>

#include <fmt/format.h>
#include <iostream>
#include <random>

namespace {

using namespace det;
namespace fs = std::filesystem;

constexpr std::size_t files_count = 20'000;
constexpr std::size_t files_per_directory = 100;
constexpr std::size_t tree_bytes = std::size_t{90} << 20;
constexpr std::string_view words[] = {"self",   "model",  "batch", "loss", "return",   "def",
                                      "import", "tensor", "rank",  "for",  "in",       "range",
                                      "if",     "not",    "=",     "==",   "(",        ")",
                                      ":",      "0.5",    "None",  "step", "optimizer"};

/// Gives the same values on every machine, unlike the distributions of the standard library.
class Generator {
public:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    std::string source_code(std::size_t size_bytes) {
        std::string text;
        while (text.size() < size_bytes) {
            text.append(4 * below(4), ' ');
            for (auto count = 2 + below(8); count > 0; --count)
                text.append(words[below(std::size(words))]) += ' ';
            text += fmt::format("x{}\n", below(1000));
        }
        text.resize(size_bytes);
        return text;
    }

    std::string noise(std::size_t size_bytes) {
        std::string bytes(size_bytes, '\0');
        for (auto& byte : bytes) byte = static_cast<char>(random_());
        return bytes;
    }

private:
    std::mt19937 random_{20261121};
};

Status make_tree(fs::path const& tree) {
    Generator generator;
    auto left = tree_bytes;
    for (std::size_t i = 0; i < files_count; ++i) {
        auto const directory = tree / fmt::format("package_{:03}", i / files_per_directory) / "part";
        if (i % files_per_directory == 0) DET_TRY(make_directories(directory));
        // Uniform between 0 and twice the mean of the remaining bytes, so that the total is exact.
        auto const files_left = files_count - i;
        auto const size = files_left == 1 ? left : std::min(left, generator.below(2 * left / files_left + 1));
        left -= size;
        auto const bytes = i % 2 == 0 ? generator.source_code(size) : generator.noise(size);
        DET_TRY(write_file(directory / fmt::format("module_{:05}.py", i), bytes));
    }
    return Ok{};
}

Status store_tree(fs::path const& tree, fs::path const& contexts) {
    auto const listed = pack::list_context({tree, {}});
    if (!listed) return listed.error().sorted().front().error;
    DET_TRY_ASSIGN(auto packed, pack::pack_tree(*listed, contexts));
    DET_TRY(packed.store());
    return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    Status done = Error{codes::usage, "the command line is not understood",
                        "usage: bench-pack make TREE | store TREE CONTEXTS"};
    if (arguments.size() == 2 && arguments[0] == "make") done = make_tree(arguments[1]);
    if (arguments.size() == 3 && arguments[0] == "store") done = store_tree(arguments[1], arguments[2]);
    if (done) return 0;
    print(std::cerr, done.error(), {Colour::never, "bench-pack"});
    return to_int(done.error().code.exit);
}
