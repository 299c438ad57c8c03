#pragma once
#include <set>
#include <string>

namespace det::test {

/// The test cases of this source tree, and the programs of this build that have them.
class TestListing {
public:
    TestListing();
    /// Checks that ctest lists the program and that its sources have the case.
    /// \param subject names in messages what the case shows
    /// \param test "PROGRAM/TEST CASE"
    void require(std::string const& subject, std::string const& test) const;

private:
    std::set<std::string> programs_;
    std::string sources_;  // of all tests
};

}  // namespace det::test
