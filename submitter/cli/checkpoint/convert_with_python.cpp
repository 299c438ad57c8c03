#include "convert_with_python.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <cstdlib>

namespace det::cli {
namespace {

constexpr std::chrono::hours time_limit(4);  // a terabyte at 80 MB/s

}  // namespace

Environment with_own_package(Environment environment) {
    auto path = (own_executable().parent_path().parent_path() / "lib/det-submit/python").string();
    if (auto const given = environment.find_non_empty("PYTHONPATH")) path += ":" + *given;
    environment.set("PYTHONPATH", path);
    return environment;
}

Status convert_with_python(std::vector<std::string> const& arguments, Environment const& environment) {
    std::vector<std::string> argv{"python3", "-m", "determined.exec.convert_checkpoint"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    SystemProcessRunner runner;
    DET_TRY_ASSIGN(auto const output,
                   runner.run({std::move(argv), with_own_package(environment), time_limit}));
    if (output.exit_code == 0) return Ok{};
    auto const lines = split_lines(trim(output.err));
    return Error{codes::process,
                 lines.empty() ? "python3 can't convert the file" : "python3: " + std::string(lines.back()),
                 "the python3 in PATH must have torch: activate the environment of your training"};
}

Result<TemporaryDirectory> TemporaryDirectory::make(Environment const& environment) {
    auto path = environment.find_non_empty("TMPDIR").value_or("/tmp") + "/det-submit.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return os_error("create '" + path + "'", errno);
    TemporaryDirectory directory;
    directory.path_ = path;
    return directory;
}

TemporaryDirectory::~TemporaryDirectory() {
    if (!path_.empty()) (void)remove_tree(path_);
}

}  // namespace det::cli
