#include "slurm_conformance.hpp"

#include <det/foundation/text.hpp>
#include <det/slurm/job.hpp>

#include <boost/test/unit_test.hpp>
#include <map>

#include "slurm_readings.hpp"

using namespace det;
using nlohmann::json;

namespace {

using Ids = std::multimap<std::string, std::string, std::less<>>;

Ids parse_ids(std::string_view jobs) {
    Ids ids;
    for (auto const line : split_lines(jobs)) {
        auto const words = split(line, ' ');
        if (words.size() == 2) ids.emplace(words[0], words[1]);
    }
    return ids;
}

std::string id_of(Ids const& ids, std::string_view what) {
    auto const found = ids.find(what);
    BOOST_REQUIRE_MESSAGE(found != ids.end(), "slurm-jobs made no job " << what);
    return found->second;
}

bool has_state(json const& job, slurm::JobState state) { return job.at("state") == static_cast<int>(state); }

void check_throttled_array(json const& jobs, std::string const& id) {
    auto const& running = jobs.at(id + "_0");
    BOOST_TEST(has_state(running, slurm::JobState::running));
    BOOST_TEST(running.at("name") == to_hex("two words"));
    BOOST_TEST(running.at("comment") == to_hex("det:somewhere/1"));
    BOOST_TEST(running.at("user") == "researcher");
    BOOST_TEST(running.at("partition") == "compute");
    BOOST_TEST(running.at("nodes") == 1);
    BOOST_TEST(running.at("batch_host") == running.at("node_list"));
    BOOST_TEST(running.at("start_time").is_number());
    for (auto const* task : {"_1", "_2", "_3"}) {
        BOOST_TEST(has_state(jobs.at(id + task), slurm::JobState::pending));
        BOOST_TEST(jobs.at(id + task).at("reason") == to_hex("JobArrayTaskLimit"));
        BOOST_TEST(jobs.at(id + task).at("batch_host") == "");
    }
    BOOST_TEST(!jobs.contains(id));
}

void check_scattered_array(json const& jobs, std::string const& id) {
    int tasks = 0;
    for (auto const& [ref, job] : jobs.items()) tasks += ref.starts_with(id + "_") ? 1 : 0;
    BOOST_TEST(tasks == 101);
    BOOST_TEST(jobs.contains(id + "_197"));
    BOOST_TEST(jobs.contains(id + "_1000"));
    BOOST_TEST(!jobs.contains(id + "_2"));
}

void check_hostile_texts(json const& jobs, Ids const& ids) {
    std::vector<std::string> const texts{
        "999999|RUNNING|N/A|bars",
        "new\n999999|RUNNING|N/A\nlines",
        "\x1b[31mred\x1b]0;title\a",
        "unit\x1fseparators\x1e",
        "right \u202eto left",
        std::string(300, 'x'),
        "bytes \xff\xfe that are no text",
        "  blanks around  ",
        "it's \"quoted\" $(id) `id` \\n %s",
    };
    auto const [first, last] = ids.equal_range("hostile");
    BOOST_REQUIRE(static_cast<std::size_t>(std::distance(first, last)) == texts.size());
    auto id = first;
    for (auto const& text : texts) {
        auto const& job = jobs.at(id->second);
        BOOST_TEST(job.at("name") == to_hex(text), text);
        BOOST_TEST(job.at("comment") == to_hex(text), text);
        BOOST_TEST(has_state(job, slurm::JobState::pending));
        ++id;
    }
    BOOST_TEST(!jobs.contains("999999"));
}

void check_finished_jobs(json const& readings, Ids const& ids) {
    auto const ended = id_of(ids, "ended"), cancelled = id_of(ids, "cancelled");
    BOOST_TEST(has_state(readings.at("all").at(ended), slurm::JobState::completed));
    BOOST_TEST(has_state(readings.at("all").at(cancelled), slurm::JobState::canceled));
    for (auto const* list : {"queue", "of_user"}) {
        BOOST_TEST(!readings.at(list).contains(ended));
        BOOST_TEST(!readings.at(list).contains(cancelled));
    }
}

void check_requeued(json const& job) {
    BOOST_TEST(has_state(job, slurm::JobState::pending));
    BOOST_TEST(job.at("restarts") == 1);
    BOOST_TEST(job.at("nice") == 100);
    auto const requested = job.at("tres_per_node").get<std::string>();
    BOOST_TEST((requested == to_hex("gres:gpu:2") || requested == to_hex("gres/gpu:2")), requested);
}

void check_cluster(json const& readings) {
    BOOST_REQUIRE(readings.at("partitions").size() == 2u);
    auto const& compute = readings.at("partitions")[0];
    auto const& first = compute.at("name") == "compute" ? compute : readings.at("partitions")[1];
    BOOST_TEST(first.at("is_default") == true);
    BOOST_TEST(first.at("is_up") == true);
    BOOST_TEST(first.at("preempt_mode") == "REQUEUE");
    BOOST_TEST(first.at("grace_time_s") == 30);
    BOOST_TEST(first.at("oversubscribe") == "EXCLUSIVE");
    BOOST_REQUIRE(readings.at("nodes").size() == 4u);  // two nodes in two partitions
    for (auto const& node : readings.at("nodes")) {
        BOOST_TEST(node.at("cpus") == 8);
        BOOST_TEST(slurm::parse_gpu_count(node.at("gres").get<std::string>()) == 4);
    }
    BOOST_TEST(readings.at("config").at("MaxArraySize") == "1001");
    BOOST_TEST(readings.at("config").at("PreemptMode") == "REQUEUE");
}

}  // namespace

void check_readings(json const& readings, std::string_view jobs) {
    auto const ids = parse_ids(jobs);
    auto const& queue = readings.at("queue");
    check_throttled_array(queue, id_of(ids, "throttled"));
    check_requeued(queue.at(id_of(ids, "requeued")));
    check_scattered_array(queue, id_of(ids, "scattered"));
    check_hostile_texts(queue, ids);
    check_finished_jobs(readings, ids);
    BOOST_TEST(queue.at(id_of(ids, "urgent")).at("partition") == "urgent");
    BOOST_TEST(queue.at(id_of(ids, "urgent")).at("reason") == to_hex("JobHeldUser"));
    BOOST_TEST(readings.at("of_user") == queue);
    check_cluster(readings);
}
