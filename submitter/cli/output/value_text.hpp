#pragma once
#include <det/protocol/json.hpp>

#include <string>

namespace det::cli {

/// Renders numbers for people on a terminal (4 significant digits), or for programs (6).
class NumberText {
public:
    enum class For { programs, people };
    NumberText() = default;  // for programs
    explicit NumberText(For readers) : digits_(readers == For::people ? digits_for_people : 6) {}
    bool is_for_people() const { return digits_ == digits_for_people; }
    std::string operator()(double value) const;
    /// The JSON of a value that is no real number is rendered as it is.
    std::string operator()(Json const& value) const;

private:
    static constexpr int digits_for_people = 4;
    int digits_ = 6;
};

/// "2:03:04", in hours, minutes and whole seconds. A negative duration is "0:00:00".
std::string duration_text(double duration_s);

}  // namespace det::cli
