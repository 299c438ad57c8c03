#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "driver.hpp"

namespace det::gpu {

/// What a check has measured. A figure above the mark makes the row fail on a real device.
struct Figure {
    double value = 0;
    std::string unit;
    std::optional<double> mark;
    std::string note;
};

/// Runs the check of a row, and prints the row to stdout as a line of JSON. A Failure that `check` throws is
/// the reason for which the row failed.
void run_row(std::string const& name, std::function<std::optional<Figure>()> const& check);

/// Throws a Failure with the text if a condition does not hold.
void require(bool condition, std::string const& text);

/// The time that a call takes, in seconds.
template <class Call>
double seconds_of(Call const& call) {
    auto const begun = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace det::gpu
