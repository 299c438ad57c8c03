#include <det/foundation/instruction_sets.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

BOOST_AUTO_TEST_SUITE(instruction_sets_test)

BOOST_AUTO_TEST_CASE(the_processor_has_what_the_compiler_finds) {
#if defined(__x86_64__)
    BOOST_TEST(has_instruction_set(InstructionSet::sse4_2) == (__builtin_cpu_supports("sse4.2") != 0));
    BOOST_TEST(has_instruction_set(InstructionSet::avx2) == (__builtin_cpu_supports("avx2") != 0));
    bool const has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    BOOST_TEST(has_instruction_set(InstructionSet::avx512) == has_avx512);
#else
    BOOST_TEST(!has_instruction_set(InstructionSet::avx2));
#endif
}

BOOST_AUTO_TEST_SUITE_END()
