#include <det/telemetry/report_ring.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using det::telemetry::ReportRing;

namespace report_ring_test {

bool push(ReportRing& ring, std::string const& text) {
    return ring.push(text.size(), [&](char* bytes) { std::memcpy(bytes, text.data(), text.size()); });
}

std::vector<std::string> pop_all(ReportRing& ring) {
    std::vector<std::string> entries;
    ring.pop_all([&](std::string_view entry) { entries.emplace_back(entry); });
    return entries;
}

}  // namespace report_ring_test

BOOST_AUTO_TEST_SUITE(report_ring_test)

BOOST_AUTO_TEST_CASE(entries_come_out_in_order) {
    ReportRing ring(256);
    BOOST_TEST(pop_all(ring).empty());
    BOOST_TEST(push(ring, "a"));
    BOOST_TEST(push(ring, "12345678"));
    BOOST_TEST(push(ring, std::string(ring.entry_limit_bytes(), 'x')));
    BOOST_TEST((pop_all(ring) == std::vector<std::string>{"a", "12345678", std::string(64, 'x')}));
    BOOST_TEST(pop_all(ring).empty());
}

BOOST_AUTO_TEST_CASE(a_full_ring_refuses_entries_until_a_pop) {
    ReportRing ring(64);  // four entries of 8 bytes with their heads
    for (int i = 0; i < 4; ++i) BOOST_TEST(push(ring, "12345678"));
    BOOST_TEST(!push(ring, "1"));
    BOOST_TEST(pop_all(ring).size() == 4u);
    BOOST_TEST(push(ring, "1"));
}

BOOST_AUTO_TEST_CASE(entries_of_all_sizes_pass_the_end_of_the_memory) {
    for (std::size_t size = 1; size <= 64; ++size) {
        ReportRing ring(256);
        for (int round = 0; round < 100; ++round) {
            auto const text = std::string(size, static_cast<char>('a' + round % 26));
            std::vector<std::string> pushed;
            while (push(ring, text)) pushed.push_back(text);
            BOOST_REQUIRE(!pushed.empty());
            BOOST_REQUIRE((pop_all(ring) == pushed));
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_push_while_one_pops) {
    constexpr int threads = 4;
    constexpr int entries = 20'000;
    ReportRing ring(1 << 12);
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back([&ring, thread] {
            for (int i = 0; i < entries;) {
                auto const text = std::to_string(thread) + ":" + std::to_string(i) + std::string(i % 40, '.');
                if (push(ring, text)) {
                    ++i;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    std::vector<int> next(threads, 0);
    for (int taken = 0; taken < threads * entries;) {
        ring.pop_all([&](std::string_view entry) {
            ++taken;
            auto const thread = static_cast<std::size_t>(entry[0] - '0');
            auto const number = std::stoi(std::string(entry.substr(2)));
            if (number != next.at(thread)++) BOOST_ERROR("entry " << entry << " is not the next one");
        });
        std::this_thread::yield();
    }
    for (auto const count : next) BOOST_TEST(count == entries);
}

BOOST_AUTO_TEST_SUITE_END()
