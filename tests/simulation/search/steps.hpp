#pragma once
#include <cstdint>
#include <utility>

namespace det::simulation {

/// The steps of a supervisor between which it may be killed.
enum class Step : std::uint8_t {
    run_created,
    before_report,
    after_report,
    before_add,
    after_add,
    before_list,
    after_list,
    before_record,
    after_record,
    after_apply,
    before_remove,
    after_remove,
    before_replace,
    after_replace,
    before_end,
    after_end,
};

struct NamedStep {
    Step step;
    char const* name;
};

constexpr NamedStep steps[] = {
    {Step::run_created, "the run's directory is created"},
    {Step::before_report, "before the program reports"},
    {Step::after_report, "after the program has reported"},
    {Step::before_add, "before the entry is added"},
    {Step::after_add, "after the entry was added"},
    {Step::before_list, "before the rung is listed"},
    {Step::after_list, "after the rung was listed"},
    {Step::before_record, "before the decision is recorded"},
    {Step::after_record, "after the decision was recorded"},
    {Step::after_apply, "after the decision was applied"},
    {Step::before_remove, "before an entry is removed"},
    {Step::after_remove, "after an entry was removed"},
    {Step::before_replace, "before an invalid trial is replaced"},
    {Step::after_replace, "after an invalid trial was replaced"},
    {Step::before_end, "before the end of the run is recorded"},
    {Step::after_end, "after the end of the run was recorded"},
};

}  // namespace det::simulation
