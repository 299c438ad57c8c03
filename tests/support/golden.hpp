#pragma once
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "test_paths.hpp"

/// Compares with tests/golden/<name>. DET_ACCEPT_GOLDEN=1 rewrites the file instead, and the test then fails
/// once on purpose, so that an accepted change never looks like a pass.
inline void check_golden(std::string const& name, std::string_view actual) {
    auto const path = std::filesystem::path(det::test::golden_path(name));
    if (std::getenv("DET_ACCEPT_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
        BOOST_ERROR("golden file accepted: " << path);
        return;
    }
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file.good(), "no golden file " << path << " (DET_ACCEPT_GOLDEN=1 writes it)");
    std::stringstream expected;
    expected << file.rdbuf();
    BOOST_TEST(actual == expected.str(), "differs from " << path << ":\n" << actual);
}
