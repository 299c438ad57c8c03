// conform-config FILE: runs a file of conformance cases of the configuration.
#include <iostream>

#include "conformance_case.hpp"

int main(int argc, char** argv) {
    if (argc == 2) return det::to_int(det::config::conformance::run_case_file(argv[1], std::cout, std::cerr));
    std::cerr << "usage: conform-config FILE\n";
    return det::to_int(det::ExitCode::usage);
}
