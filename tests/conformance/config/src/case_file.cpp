#include <det/protocol/json.hpp>
#include <det/yaml/parse.hpp>

#include "check.hpp"
#include "conformance_case.hpp"
#include "schema/assign.hpp"

namespace det::config::conformance {
namespace {

using namespace schema;

// A case file is read with key tables, as a configuration is.
constinit Type const pattern_lists{
    .shape = Shape::map, .expected = "a map of URLs to lists", .item = &text_list};

constexpr Key case_keys[] = {
    required({"name", text, "", "what the report calls it", into<&ConformanceCase::name>}),
    {"case", anything, "", "the document under test", into<&ConformanceCase::document>},
    {"sane_as", text_list, "", "URLs of schemas", into<&ConformanceCase::sane_as>},
    {"complete_as", text_list, "", "URLs of schemas", into<&ConformanceCase::complete_as>},
    {"creatable_as", text_list, "", "URLs of schemas", into<&ConformanceCase::creatable_as>},
    {"sanity_errors", pattern_lists, "", "expected messages", into<&ConformanceCase::sanity_errors>},
    {"completeness_errors", pattern_lists, "", "expected messages",
     into<&ConformanceCase::completeness_errors>},
    {"creation_errors", pattern_lists, "", "expected messages", into<&ConformanceCase::creation_errors>},
    {"default_as", text, "", "the URL of a schema", into<&ConformanceCase::default_as>},
    {"defaulted", anything, "", "with its defaults", into<&ConformanceCase::defaulted>},
    {"merge_as", text, "", "the URL of a schema", into<&ConformanceCase::merge_as>},
    {"merge_src", anything, "", "the lower layer", into<&ConformanceCase::merge_src>},
    {"merged", anything, "", "both together", into<&ConformanceCase::merged>},
};
constinit Type const case_type = object_of(case_keys);
constinit Type const case_list{.shape = Shape::list, .expected = "a list of cases", .item = &case_type};

}  // namespace

Result<std::vector<ConformanceCase>, Diagnostics> parse_conformance_cases(std::string_view written,
                                                                          std::string file_name) {
    DET_TRY_ASSIGN(auto document, yaml::parse_document(written, file_name));
    if (!document.is_list()) {
        auto const location =
            yaml::Location{std::make_shared<yaml::Source const>(std::move(file_name), std::string(written))};
        return Error{codes::wrong_type, "a case file is a list of cases, found " + describe(document),
                     "begin each case with '- name: ...'", location.span()};
    }
    Checker checker(Checker::Phase::sanity);
    checker.check(document, case_list, Path{}, document.location());
    if (auto found = std::move(checker).finish(); found.has_errors()) return found;
    std::vector<ConformanceCase> cases;
    assign(cases, document, case_list);
    return cases;
}

}  // namespace det::config::conformance
