#include "experiment/test_locally.hpp"

#include <det/experiment/load_config.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/template_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/trial_class.hpp>
#include <det/yaml/render.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <ostream>
#include <sys/mman.h>
#include <unistd.h>

#include "checkpoint/convert_with_python.hpp"

namespace det::cli {
namespace {

/// The class in an entrypoint that starts one: "model_def:MyTrial", `... --trial model_def:MyTrial`.
Result<std::string> require_trial_class(config::Entrypoint const& entrypoint) {
    std::vector<std::string> words;
    if (auto const* text = std::get_if<std::string>(&entrypoint)) {
        for (auto const word : split(*text, ' ')) words.emplace_back(word);
    } else {
        words = std::get<std::vector<std::string>>(entrypoint);
    }
    if (find_trial_class_launch(words) != TrialClassLaunch::none) {
        constexpr std::string_view option = "--trial=";
        for (std::string_view word : words) {
            if (word.starts_with(option)) word.remove_prefix(option.size());
            if (is_trial_class(word)) return std::string(word);
        }
    }
    return Error{codes::usage, "--local --test is for a trial class, and the entrypoint is a program",
                 "start the program by itself: without a cluster the Core API and Trainer log their reports"};
}

/// Connects the standard input of this process to a file in memory.
Status give_standard_input(std::string const& text) {
    UniqueFd const file(::memfd_create("det-local-test", MFD_CLOEXEC));
    if (file.get() < 0) return os_error("create a file in memory", errno);
    DET_TRY(write_all(file.get(), text, "the configuration"));
    if (::lseek(file.get(), 0, SEEK_SET) < 0 || ::dup2(file.get(), STDIN_FILENO) < 0)
        return os_error("connect the standard input", errno);
    return Ok{};
}

}  // namespace

Outcome test_locally(experiment::SubmissionOptions const& submission, Session& session) {
    DET_TRY_ASSIGN(auto const root, experiment::find_root(session.environment));
    auto sources = submission.sources;
    DET_TRY_ASSIGN(auto const site, experiment::load_site_file(session.environment));
    DET_TRY_ASSIGN(sources.shared_template_directories,
                   experiment::find_shared_template_directories(session.environment, site));
    DET_TRY_ASSIGN(auto const loaded, experiment::load_config(sources, root, session.clock.now()));
    print(session.err, loaded.warnings, session.style);
    DET_TRY_ASSIGN(auto const trial_class, require_trial_class(loaded.config.entrypoint));
    if (loaded.config.searcher.name == "custom")
        return Error{codes::usage, "--local --test does not ask a sampler for hyperparameters",
                     "use another searcher for the test: --config 'searcher={name: single, metric: loss}'"};
    DET_TRY_ASSIGN(auto const search, plan::plan_search(loaded.config));
    auto const content = Json{{"config", yaml::to_json(loaded.config.effective)},
                              {"hparams", search.draw_first(1).front().hyperparameters}};
    DET_TRY(give_standard_input(to_line(content)));
    auto const directory = submission.code.directory.value_or(".");
    if (::chdir(directory.c_str()) != 0)
        return os_error(fmt::format("go to '{}'", directory.string()), errno);
    session.out.flush();
    return replace_process({"python3", "-m", "determined.exec.test_locally", trial_class},
                           with_own_package(session.environment));
}

}  // namespace det::cli
