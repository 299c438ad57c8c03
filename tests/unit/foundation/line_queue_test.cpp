#include <det/foundation/line_queue.hpp>

#include <boost/test/unit_test.hpp>
#include <latch>
#include <optional>

using namespace det;

namespace line_queue_test {

/// Writes into a string; the first write blocks until release().
struct Fixture {
    std::latch has_begun{1}, may_end{1};
    std::string written;
    std::optional<LineQueue> queue{
        std::in_place, "test-lines",
        [this](std::string_view lines, std::size_t missing) { write(lines, missing); }, std::size_t{10}};

    void write(std::string_view lines, std::size_t missing) {
        if (!has_begun.try_wait()) has_begun.count_down();
        may_end.wait();
        written.append(lines);
        if (missing > 0) written.append("(" + std::to_string(missing) + ")");
    }
    void begin_blocked_write() {
        queue->append("a\n");
        has_begun.wait();
    }
    void release() { may_end.count_down(); }
};

}  // namespace line_queue_test

BOOST_FIXTURE_TEST_SUITE(line_queue_test, Fixture)

BOOST_AUTO_TEST_CASE(lines_are_written_in_order) {
    release();
    for (auto const* line : {"a\n", "b\n", "c\n"}) {
        queue->append(line);
        queue->flush();
    }
    BOOST_TEST(written == "a\nb\nc\n");
}

BOOST_AUTO_TEST_CASE(lines_wait_while_a_write_does_not_return) {
    begin_blocked_write();
    queue->append("12345678\n");
    queue->append("\n");  // ten bytes
    release();
    queue->flush();
    BOOST_TEST(written == "a\n12345678\n\n");
}

BOOST_AUTO_TEST_CASE(flush_for_waits_no_longer_than_it_may) {
    begin_blocked_write();
    BOOST_TEST(!queue->flush_for(std::chrono::milliseconds(1)));
    release();
    BOOST_TEST(queue->flush_for(std::chrono::seconds(30)));
}

BOOST_AUTO_TEST_CASE(lines_beyond_the_limit_are_counted_where_they_are_missing) {
    begin_blocked_write();
    queue->append("12345678\n");
    queue->append("x\n");  // would be the eleventh byte
    queue->append("\n");   // would fit, and is left out with the line before it
    queue->append("y\nz\n");
    release();
    queue->flush();
    queue->append("b\n");
    queue->flush();
    BOOST_TEST(written == "a\n12345678\n(4)b\n");
}

BOOST_AUTO_TEST_CASE(the_destructor_writes_what_waits) {
    begin_blocked_write();
    queue->append("b\n");
    release();
    queue.reset();
    BOOST_TEST(written == "a\nb\n");
}

BOOST_AUTO_TEST_SUITE_END()
