#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace det::sampler {

/// How a sampler is started.
struct ProgramSettings {
    std::vector<std::string> argv;
    Environment environment;          // all of its variables
    std::filesystem::path directory;  // its working directory
    std::chrono::milliseconds timeout{60'000};
};

/// A sampler that is being asked. The destructor kills its process group, with all that it has started.
class SamplerProgram {
public:
    /// Starts the program with the request as its standard input. Does not block.
    static Result<SamplerProgram> start(ProgramSettings const& settings, std::string_view request);
    SamplerProgram(SamplerProgram&& other) noexcept;
    SamplerProgram& operator=(SamplerProgram&& other) = delete;
    ~SamplerProgram();

    /// Looks whether the program has ended. Does not block.
    /// \return its standard output; nullopt while it runs. codes::timed_out after the time limit,
    ///     codes::process if it ends with another code than 0, codes::bad_value if it writes too much
    std::optional<Result<std::string>> poll();
    /// Waits until poll() may have something to do.
    void wait(std::chrono::milliseconds at_most) const;
    /// The end of what it has written to its standard error, 64 KiB at most.
    std::string const& errors() const { return errors_; }

private:
    using Time = std::chrono::steady_clock::time_point;

    SamplerProgram(std::string name, pid_t pid, UniqueFd out, UniqueFd err,
                   std::chrono::milliseconds timeout);
    void read();
    int end();

    std::string name_;
    pid_t pid_;
    UniqueFd process_, out_, err_;
    std::chrono::milliseconds timeout_;
    Time deadline_;
    std::string output_, errors_;
};

}  // namespace det::sampler
