#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

#include <map>
#include <string>
#include <vector>

namespace det::config {

/// Regular expressions by the URL of the schema that has to complain.
using ExpectedErrors = std::map<std::string, std::vector<std::string>>;

/// A document and what must hold of it, in the form in which Determined publishes its schema tests; see
/// tests/conformance/config/README.md. Empty: nothing is said.
struct ConformanceCase {
    std::string name;
    yaml::Node document;
    std::vector<std::string> sane_as;
    std::vector<std::string> complete_as;
    std::vector<std::string> creatable_as;  // ours: creation refuses more than an incomplete document
    ExpectedErrors sanity_errors;
    ExpectedErrors completeness_errors;
    ExpectedErrors creation_errors;  // ours
    std::string default_as;
    yaml::Node defaulted;
    std::string merge_as;
    yaml::Node merge_src;
    yaml::Node merged;
};

/// The cases of a file, or what makes it no case file.
Result<std::vector<ConformanceCase>, Diagnostics> parse_conformance_cases(std::string_view text,
                                                                          std::string file_name);

struct CaseOutcome {
    enum class Verdict { ok, not_ok, skipped };
    Verdict verdict = Verdict::ok;
    std::string why = {};
};

CaseOutcome run_case(ConformanceCase const& tested);

}  // namespace det::config
