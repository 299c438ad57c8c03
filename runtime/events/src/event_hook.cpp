#include <det/events/event_hook.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace det::events {
namespace {

std::string hook_command(JsonValue const& config) {
    Json::json_pointer const hook("/slurm/event_hook");
    return config->contains(hook) && config->at(hook).is_string() ? config->at(hook).get<std::string>() : "";
}

Json members_of_every_event(ExperimentSpec const& spec) {
    Json members{{"experiment", spec.id.value}, {"name", spec.name}, {"owner", spec.owner}};
    Json::json_pointer const webhooks("/integrations/webhooks");
    if (spec.config->contains(webhooks)) members["webhooks"] = spec.config->at(webhooks);
    return members;
}

/// Writes the text to an anonymous file in memory, which the shell of the hook opens as /proc/PID/fd/FD.
Result<UniqueFd> make_file_in_memory(std::string const& text) {
    UniqueFd file(::memfd_create("event", MFD_CLOEXEC));
    if (!file) return os_error("make a file in memory", errno);
    DET_TRY(write_all(file.get(), text, "a file in memory"));
    return file;
}

}  // namespace

EventHook::EventHook(ExperimentSpec const& spec, Environment environment, Log log,
                     std::chrono::milliseconds limit)
    : command_(hook_command(spec.config)),
      about_(members_of_every_event(spec)),
      environment_(std::move(environment)),
      log_(std::move(log)),
      limit_(limit) {}

void EventHook::notify(std::string_view event, JsonValue const& body) {
    if (command_.empty()) return;
    Json message = *about_;
    message["event"] = event;
    message.update(*body);
    if (running_.size() >= commands_max) {
        running_.front().join();
        running_.pop_front();
    }
    log_failures();
    auto text = to_line(message) + "\n";
    auto command = [this, event = std::string(event), text = std::move(text)](std::stop_token const&) {
        run(event, text);
    };
    try {
        running_.push_back(start_thread("event-hook", std::move(command)));
    } catch (std::system_error const& error) {
        log_(fmt::format("slurm.event_hook for '{}' was not started: {}", event, error.what()));
    }
}

void EventHook::wait() {
    for (auto& command : running_) command.join();
    running_.clear();
    log_failures();
}

void EventHook::run(std::string const& event, std::string const& text) {
    auto const fail = [&](std::string const& why) {
        std::lock_guard const lock(mutex_);
        failures_.push_back(fmt::format("slurm.event_hook for '{}' failed: {}", event, why));
    };
    auto const file = make_file_in_memory(text);
    if (!file) return fail(file.error().message);
    auto const path = fmt::format("/proc/{}/fd/{}", ::getpid(), file->get());
    auto const ended = SystemProcessRunner().run(
        {{"sh", "-c", "exec sh -c \"$1\" <\"$2\"", "event-hook", command_, path}, environment_, limit_});
    if (!ended) return fail(ended.error().message);
    if (ended->exit_code == 0) return;
    auto const output = trim(ended->err);
    fail(fmt::format("exit code {}{}{}", ended->exit_code, output.empty() ? "" : ": ",
                     output.substr(0, output.find('\n'))));
}

void EventHook::log_failures() {
    std::lock_guard const lock(mutex_);
    for (auto const& failure : failures_) log_(failure);
    failures_.clear();
}

}  // namespace det::events
