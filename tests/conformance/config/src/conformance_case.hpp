#pragma once
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/exit_code.hpp>
#include <det/foundation/result.hpp>
#include <det/yaml/node.hpp>

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace det::config::conformance {

/// Regular expressions, by the URL of the schema that must report a message which matches each of them.
using ExpectedErrors = std::map<std::string, std::vector<std::string>>;

/// A document and what must be true of it, in the form in which Determined publishes its schema tests; see
/// tests/conformance/config/README.md. An empty member expects nothing.
struct ConformanceCase {
    std::string name;
    yaml::Node document;
    std::vector<std::string> sane_as;
    std::vector<std::string> complete_as;
    std::vector<std::string> creatable_as;  // not Determined's: creation refuses more than missing keys
    ExpectedErrors sanity_errors;
    ExpectedErrors completeness_errors;
    ExpectedErrors creation_errors;  // not Determined's
    std::string default_as;
    yaml::Node defaulted;
    std::string merge_as;
    yaml::Node merge_src;
    yaml::Node merged;
};

/// \return The cases of a file, or Diagnostics that say why it is not a case file.
Result<std::vector<ConformanceCase>, Diagnostics> parse_conformance_cases(std::string_view text,
                                                                          std::string file_name);

struct CaseOutcome {
    enum class Verdict { ok, not_ok, skipped };
    Verdict verdict = Verdict::ok;
    std::string why = {};
};

CaseOutcome run_case(ConformanceCase const& tested);

/// Runs the cases of a file, and prints a line for each to `out`: "ok NAME", "not ok NAME: why" or
/// "skip NAME: why". Numbers and errors go to `err`.
/// \return could_not if a case is not ok; the exit code of the error if the file is missing or no case file
ExitCode run_case_file(std::string const& path, std::ostream& out, std::ostream& err);

}  // namespace det::config::conformance
