#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>

/// The name of the file for the output of a command that reads.
inline std::string recording_name(det::Command const& command) {
    auto const line = det::join(command.argv, " ");
    auto const has = [&](std::string_view word) { return line.find(word) != std::string::npos; };
    if (has("squeue"))
        return has("--states=all") ? "squeue-all.txt" : has("--user") ? "squeue-user.txt" : "squeue.txt";
    if (has("sinfo")) return has("--Node") ? "nodes.txt" : "sinfo.txt";
    if (has("show partition")) return "partitions.txt";
    if (has("show config")) return "config.txt";
    throw std::runtime_error("there is no recording of " + line);
}

/// Replaces the separator in recordings, because the client uses a new random separator for each command.
inline constexpr char recorded_separator[] = "~SEPARATOR~";

inline std::string separator_of(det::Command const& command) {
    auto const format = command.environment.find("SQUEUE_FORMAT2").value_or("");
    return format.substr(std::min(format.size(), format.rfind(":0") + 2));
}

inline std::string replace_all(std::string text, std::string const& what, std::string const& by) {
    for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;
         at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

/// Runs commands and stores their output.
class RecordingRunner final : public det::ProcessRunner {
public:
    explicit RecordingRunner(std::filesystem::path directory) : directory_(std::move(directory)) {}
    det::Result<det::ProcessOutput> run(det::Command const& command) override {
        DET_TRY_ASSIGN(auto output, runner_.run(command));
        auto const text = replace_all(output.out, separator_of(command), recorded_separator);
        DET_TRY(det::write_file(directory_ / recording_name(command), text, 0644));
        return output;
    }

private:
    det::SystemProcessRunner runner_;
    std::filesystem::path directory_;
};

/// Returns the recorded output of commands.
class RecordedRunner final : public det::ProcessRunner {
public:
    explicit RecordedRunner(std::filesystem::path directory) : directory_(std::move(directory)) {}
    det::Result<det::ProcessOutput> run(det::Command const& command) override {
        DET_TRY_ASSIGN(auto text, det::read_file(directory_ / recording_name(command)));
        return det::ProcessOutput{
            0, replace_all(std::move(text), recorded_separator, separator_of(command)), {}};
    }

private:
    std::filesystem::path directory_;
};
