// Asks the sampler of an experiment when a trial begins. The answer is recorded before anything follows from
// it (runtime/sampler), so this process may be killed at any point. The lock only spares work: without it,
// processes that ask at the same time would drop all answers but one.
#include "ask_sampler.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/repeat_write.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/choose.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "run_environment.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr int sampler_attempts_max = 3;
constexpr std::int64_t default_answer_timeout_s = 60;
constexpr std::chrono::milliseconds sampler_look_interval{200};
constexpr std::chrono::seconds pause_between_attempts{5};
constexpr std::chrono::seconds wait_for_turn_max{60};  // a process that was killed may hold the lock

std::vector<std::string> sampler_command_of(Json const& options) {
    auto const found = options.find("command");
    if (found == options.end()) return {};
    if (found->is_string()) return {"bash", "-c", found->get<std::string>()};
    std::vector<std::string> argv;
    for (auto const& each : *found)
        argv.push_back(each.is_string() ? each.get<std::string>() : to_line(each));
    return argv;
}

std::chrono::seconds answer_timeout_of(Json const& options) {
    auto const found = options.find("answer_timeout");
    auto const wanted = found != options.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    return std::chrono::seconds(wanted > 0 ? wanted : default_answer_timeout_s);
}

/// The directory with the experiment's code for its sampler. The first process that needs it unpacks the
/// archive under another name and renames it.
Result<fs::path> require_sampler_code(BatchJob const& batch_job) {
    auto const directory = sampler::sampler_directory(batch_job.experiment);
    DET_TRY(make_directories(directory));
    auto const& context = batch_job.spec.context;
    if (!context) return directory;
    auto const code = directory / ("code-" + context->sha256.substr(0, 16));
    if (path_exists(code)) return code;
    auto const fresh = temporary_name(directory, ".new-");
    DET_TRY(make_directories(fresh));
    auto const archive = RootLayout(batch_job.spec.root).context(context->sha256);
    if (auto const unpacked = unpack_archive(archive, context->sha256, fresh); !unpacked) {
        (void)remove_tree(fresh);
        return unpacked.error();
    }
    bool const is_renamed = rename_own(fresh, code) == 0;
    auto const error = errno;
    if (!is_renamed) (void)remove_tree(fresh);
    if (is_renamed || path_exists(code)) return code;
    return os_error(fmt::format("rename '{}' to '{}'", fresh.string(), code.string()), error);
}

/// The experiment's lock for questions to its sampler.
class SamplerTurn {
public:
    SamplerTurn(ExperimentLayout const& experiment, Clock& clock, Meanwhile const& meanwhile)
        : path_(sampler::sampler_directory(experiment) / "lock"), clock_(clock), meanwhile_(meanwhile) {}

    /// Waits until no other process asks, for `at_most`, and until `meanwhile` says that the question is
    /// given up. A file system without locks lets all processes ask at once.
    ///
    /// \return whether another process had the lock
    bool wait(std::chrono::seconds at_most) {
        if (is_taken_) return false;
        auto const until = clock_.steady_now() + at_most;
        bool has_waited = false;
        while (take() == Lock::of_another) {
            if (clock_.steady_now() >= until || !meanwhile_()) break;
            has_waited = true;
            clock_.sleep_for(sampler_look_interval);
        }
        return has_waited;
    }
    /// Whether no other process asks now. Takes the lock if there is one.
    bool is_free() { return take() != Lock::of_another; }
    void release() {
        file_.reset();
        is_taken_ = false;
    }

private:
    enum class Lock { own, of_another, none };

    Lock take() {
        if (!file_) file_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file_) return Lock::none;
        is_taken_ = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
        if (is_taken_) return Lock::own;
        return errno == EWOULDBLOCK || errno == EINTR ? Lock::of_another : Lock::none;
    }

    fs::path path_;
    Clock& clock_;
    Meanwhile const& meanwhile_;
    UniqueFd file_;
    bool is_taken_ = false;
};

Error question_given_up() { return {codes::interrupted, "the job ends before the sampler has answered"}; }

Result<std::string> ask_program(BatchJob const& batch_job, std::uint32_t trial,
                                sampler::ProgramSettings const& settings, std::string const& request,
                                Meanwhile const& meanwhile) {
    DET_TRY_ASSIGN(auto program, sampler::SamplerProgram::start(settings, request));
    for (;;) {
        auto output = program.poll();
        if (output) {
            auto const kept = keep_sampler_errors(batch_job, trial, program.errors());
            if (!*output && !kept.empty()) output->error().hint = fmt::format("its standard error: {}", kept);
            return *std::move(output);
        }
        if (!meanwhile()) return question_given_up();
        program.wait(sampler_look_interval);
    }
}

std::string describe_sampler_failure(Error const& error) {
    return error.message + (error.hint.empty() ? "" : "; " + error.hint);
}

/// Returns false if the question is given up meanwhile.
bool pause_before_next_attempt(Clock& clock, Meanwhile const& meanwhile) {
    auto const until = clock.steady_now() + pause_between_attempts;
    while (clock.steady_now() < until) {
        if (!meanwhile()) return false;
        clock.sleep_for(sampler_look_interval);
    }
    return true;
}

/// The beginning that follows from a decision.
TrialBeginning beginning_of(sampler::Beginning const& chosen, search::TrialDraw draw) {
    TrialBeginning beginning{std::move(draw)};
    auto const& answer = chosen.decision.answer;
    if (answer.hyperparameters) beginning.draw.hyperparameters = *answer.hyperparameters;
    beginning.waits = answer.waits;
    if (!answer.hyperparameters && !answer.waits)
        beginning.end = fmt::format("the sampler begins no further trial: {}", answer.stop.value_or(""));
    if (chosen.is_pruned) beginning.end = "the sampler has pruned it";
    return beginning;
}

}  // namespace

std::string keep_sampler_errors(BatchJob const& batch_job, std::uint32_t trial, std::string const& errors) {
    if (errors.empty()) return {};
    auto const directory = sampler::sampler_directory(batch_job.experiment) / "stderr";
    auto const path = directory / std::to_string(trial);
    bool const is_kept = make_directories(directory) && write_file(path, errors);
    return is_kept ? path.string() : std::string();
}

Result<sampler::ProgramSettings> prepare_sampler(BatchJob const& batch_job,
                                                 SupervisorContext const& context) {
    auto const& options = *batch_job.spec.searcher.options;
    sampler::ProgramSettings settings;
    settings.argv = sampler_command_of(options);
    if (settings.argv.empty()) return Error{codes::missing_key, "searcher.command names no program"};
    settings.environment = make_sampler_environment(batch_job.spec, context.environment);
    settings.environment.set(variables::sampler_directory,
                             sampler::sampler_directory(batch_job.experiment).string());
    settings.timeout = answer_timeout_of(options);
    DET_TRY_ASSIGN(settings.directory, require_sampler_code(batch_job));
    return settings;
}

bool may_ask_now(BatchJob const& batch_job, SupervisorContext const& context) {
    Meanwhile const nothing = [] { return true; };
    return SamplerTurn(batch_job.experiment, context.clock, nothing).is_free();
}

namespace {

/// A question to the sampler of an experiment with its attempts.
class SamplerQuestion {
public:
    SamplerQuestion(BatchJob const& batch_job, SupervisorContext const& context, std::uint32_t trial,
                    Meanwhile const& meanwhile)
        : batch_job_(batch_job),
          context_(context),
          trial_(trial),
          meanwhile_(meanwhile),
          turn_(batch_job.experiment, context.clock, meanwhile) {}

    sampler::Asker asker() {
        sampler::Asker asker{batch_job_.experiment, batch_job_.spec, slurm::to_string(batch_job_.job),
                             [this] { return context_.clock.now(); },
                             [this](auto& request) { return ask(request); }};
        asker.log = context_.log;
        asker.wait_for_turn = [this] { return wait_for_turn(); };
        asker.tries_again = [this](auto& error) { return tries_again(error); };
        return asker;
    }
    /// Whether the question was given up with this error because the job ends.
    bool is_given_up(Error const& error) const { return is_given_up_ || error.code == codes::interrupted; }

private:
    Result<std::string> ask(std::string const& request) {
        DET_TRY_ASSIGN(auto const settings, prepare_sampler(batch_job_, context_));
        return ask_program(batch_job_, trial_, settings, request, meanwhile_);
    }
    bool wait_for_turn() {
        (void)make_directories(sampler::sampler_directory(batch_job_.experiment));
        return turn_.wait(std::min(answer_timeout_of(*batch_job_.spec.searcher.options), wait_for_turn_max));
    }
    bool tries_again(Error const& error) {
        if (error.code == codes::interrupted || may_succeed_later(error)) return false;
        context_.log(fmt::format("trial {}: {}", trial_, describe_sampler_failure(error)));
        turn_.release();
        if (++failures_ == sampler_attempts_max) return false;
        is_given_up_ = !pause_before_next_attempt(context_.clock, meanwhile_);
        return !is_given_up_;
    }

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    std::uint32_t trial_;
    Meanwhile const& meanwhile_;
    SamplerTurn turn_;
    int failures_ = 0;
    bool is_given_up_ = false;
};

}  // namespace

Result<TrialBeginning> choose_beginning(BatchJob const& batch_job, SupervisorContext const& context,
                                        std::uint32_t trial, Meanwhile const& meanwhile) {
    DET_TRY_ASSIGN(auto draw, search::draw_trial(batch_job.spec, trial));
    if (!sampler::is_custom(batch_job.spec)) return TrialBeginning{std::move(draw)};
    SamplerQuestion question(batch_job, context, trial, meanwhile);
    auto const chosen = sampler::choose_hyperparameters(question.asker(), trial);
    if (!chosen) {
        auto const& error = chosen.error();
        if (question.is_given_up(error)) return question_given_up();
        if (may_succeed_later(error)) return error;
        return TrialBeginning{std::move(draw), "", describe_sampler_failure(error)};
    }
    auto beginning = beginning_of(*chosen, std::move(draw));
    if (!search::sampler_sets_lengths(batch_job.spec.searcher) || !beginning.end.empty()) return beginning;
    DET_TRY_ASSIGN(auto const decisions, sampler::load_decisions(batch_job.experiment));
    if (decisions.is_closed(trial)) beginning.end = "the sampler trains it no further";
    return beginning;
}

Status ask_what_follows(BatchJob const& batch_job, SupervisorContext const& context,
                        sampler::Request const& request, Meanwhile const& meanwhile) {
    SamplerQuestion question(batch_job, context, request.trial, meanwhile);
    auto const answered = sampler::answer_question(question.asker(), request);
    if (!answered && question.is_given_up(answered.error())) return question_given_up();
    return answered;
}

}  // namespace det::launch::supervisor
