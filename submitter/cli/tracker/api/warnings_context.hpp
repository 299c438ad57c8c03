#pragma once
#include <det/experiment/context.hpp>

#include <sstream>

#include "route_helpers.hpp"

namespace det::tracker::api {

/// Collects the warnings of the use cases as text.
class WarningsContext final : public experiment::Context {
public:
    explicit WarningsContext(Sources const& sources)
        : Context(sources.environment, sources.clock, sources.slurm, sources.cache) {
        foreign_root = sources.foreign_root;
        if (sources.root.places()) places = sources.root.places();
    }
    void on_warnings(Diagnostics const& found) const override {
        std::ostringstream text;
        print(text, found, {});
        warnings += text.str();
    }
    void on_message(std::string const&) const override {}
    mutable std::string warnings;
};

}  // namespace det::tracker::api
