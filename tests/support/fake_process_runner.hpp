#pragma once
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <deque>
#include <string>
#include <vector>

/// Returns the prepared answers one after the other and records the commands.
class FakeProcessRunner final : public det::ProcessRunner {
public:
    void answer(int exit_code, std::string out, std::string err = {}) {
        answers_.push_back(det::ProcessOutput{exit_code, std::move(out), std::move(err)});
    }
    void answer(det::Error error) { answers_.push_back(std::move(error)); }

    /// Starts programs ahead too; finish() gets the next answer.
    bool starts_ahead = false;
    std::vector<std::string> inputs;  // of finish()

    std::unique_ptr<det::WaitingProgram> start_ahead(det::Command command) override {
        if (!starts_ahead) return nullptr;
        return std::make_unique<Ahead>(*this, std::move(command));
    }

    det::Result<det::ProcessOutput> run(det::Command const& command) override {
        calls.push_back(command);
        if (answers_.empty())
            return det::Error{det::codes::internal, "the test has prepared no answer for this command"};
        auto next = std::move(answers_.front());
        answers_.pop_front();
        return next;
    }

    std::string line(std::size_t call) const { return det::join(calls.at(call).argv, " "); }

    std::vector<det::Command> calls;

private:
    class Ahead final : public det::WaitingProgram {
    public:
        Ahead(FakeProcessRunner& runner, det::Command command)
            : runner_(runner), command_(std::move(command)) {}
        det::Result<det::ProcessOutput> finish(std::string_view input) override {
            runner_.inputs.emplace_back(input);
            return runner_.run(command_);
        }

    private:
        FakeProcessRunner& runner_;
        det::Command command_;
    };

    std::deque<det::Result<det::ProcessOutput>> answers_;
};
