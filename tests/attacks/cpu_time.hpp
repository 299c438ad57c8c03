#pragma once
#include <ctime>

/// Processor time that one call may need: 5 s as users build the programs; the tests' build is not optimised.
#ifdef NDEBUG
inline constexpr double cpu_limit_s = 5;
#else
inline constexpr double cpu_limit_s = 15;
#endif

/// The processor time of a call in all threads of this process, in seconds.
template <class Call>
double cpu_time_s(Call const& call) {
    auto const start = std::clock();
    call();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}
