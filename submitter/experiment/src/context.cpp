#include <det/experiment/context.hpp>
#include <det/experiment_pack/unpacked_cache.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <pwd.h>
#include <unistd.h>
#include <vector>

namespace det::experiment {

Context::Context(Environment environment_of_user, Clock& clock_used, slurm::SlurmClient& client,
                 std::filesystem::path cache_directory)
    : environment(std::move(environment_of_user)),
      clock(clock_used),
      slurm(client),
      cache(std::move(cache_directory)),
      places(std::make_shared<experiment_pack::UnpackedCache>(cache)) {}

void Context::warn(Error error) const {
    Diagnostics warnings;
    warnings.warn(std::move(error));
    on_warnings(warnings);
}

std::shared_ptr<tracker::history::History> Context::open_history(RootLayout const& root) const {
    if (make_history) return make_history(root);
    return open_journals(root);
}

std::shared_ptr<tracker::history::JournalHistory> Context::open_journals(RootLayout const& root) const {
    return std::make_shared<tracker::history::JournalHistory>(
        root, [this](Error error) { on_damage(std::move(error)); });
}

std::string user_name(Environment const& environment) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(16384);
    ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return found->pw_name;
    return environment.find("USER").value_or(std::to_string(::geteuid()));
}

std::string event_author(Environment const& environment) {
    char host[256] = "localhost";
    ::gethostname(host, sizeof host - 1);
    return user_name(environment) + "@" + host;
}

}  // namespace det::experiment
