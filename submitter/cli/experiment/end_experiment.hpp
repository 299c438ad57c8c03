#pragma once
#include <det/protocol/desired_state.hpp>

#include <string>

#include "command.hpp"

namespace det::cli {

/// The commands `experiment cancel` and `experiment kill`.
class EndExperiment final : public Command {
public:
    explicit EndExperiment(DesiredState desired) : desired_(desired) {}
    std::vector<Option> options() override;
    Outcome run(Session& session) override;

private:
    DesiredState desired_;
    std::string id_;
    bool accepts_damage_ = false;
};

}  // namespace det::cli
