// main() of the test programs.
#define BOOST_TEST_MODULE det
#include <boost/test/unit_test.hpp>
