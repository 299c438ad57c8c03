// What is said of the storage that an experiment fills: free space, quotas, what the site deletes.
#include <det/experiment/purge.hpp>
#include <det/experiment/sharing.hpp>
#include <det/experiment/storage_space.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <sys/stat.h>

#include "create_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace storage_test {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

constexpr char quota_output[] =
    "Disk quotas for user ada (uid 1000): \n"
    "     Filesystem   space   quota   limit   grace   files   quota   limit   grace\n"
    "      /dev/sda1  950000* 900000 1000000   6days    1200       0   10000        0\n"
    "server:/a/very/long/export/name\n"
    "                     20       0 1000000       0       3       0       0        0\n";

struct Fixture : CreateFixture {
    Fixture() { environment.set("PATH", directory.path().string()); }

    /// A program in PATH, in place of the one of this name.
    void write_program(std::string const& name, std::string const& script) const {
        must(write_file(directory / name, "#!/bin/sh\n" + script, 0755));
    }
    /// The device of the file system that holds the root, as the kernel names it.
    std::string device() const {
        SystemProcessRunner runner;
        auto const found =
            must(runner.run({{"findmnt", "-n", "-o", "SOURCE", "--target", directory.path().string()}, {}}));
        return std::string(trim(split(found.out, '[').front()));
    }
};

}  // namespace storage_test

using namespace storage_test;

BOOST_AUTO_TEST_SUITE(storage_test)

BOOST_AUTO_TEST_CASE(tables_of_quota_and_lfs_quota_are_read) {
    auto const quotas = parse_quotas(quota_output);
    BOOST_REQUIRE(quotas.size() == 2u);
    BOOST_TEST(quotas[0].file_system == "/dev/sda1");
    BOOST_TEST(quotas[0].used.bytes == 950000u * 1024);
    BOOST_TEST(quotas[0].limit.bytes == 900000u * 1024);  // the soft limit
    BOOST_TEST((quotas[0].used.files == 1200u));
    BOOST_TEST((quotas[0].limit.files == 10000u));
    BOOST_TEST(quotas[1].file_system == "server:/a/very/long/export/name");
    BOOST_TEST(quotas[1].limit.bytes == 1000000u * 1024);
    BOOST_TEST(!quotas[1].limit.files);
    auto const lustre = parse_quotas(
        "/lustre 5768888 0 20971520 - [28322] 90000 100000 -\n/scratch\n   [12]  0  0  -  1  0  0  -\n");
    BOOST_REQUIRE(lustre.size() == 2u);
    BOOST_TEST((lustre[0].used.files == 28322u));
    BOOST_TEST((lustre[0].limit.files == 90000u));
    BOOST_TEST(lustre[1].limit.bytes == 0u);
    BOOST_TEST(parse_quotas("Disk quotas for user ada (uid 1000): none\n").empty());
    BOOST_TEST(parse_quotas("x 1 2 3 - 4 99999999999999999999999 6 -\n").empty());
}

BOOST_AUTO_TEST_CASE(warnings_have_the_numbers) {
    StoragePlace place{"the root", "/home/ada/det", StorageAmount{5 * gibibyte, 10'000}};
    BOOST_TEST(find_storage_warnings({place}, files_of(100, 1)).empty());
    place.space = StorageAmount{gibibyte / 2, 100};
    auto const warnings = find_storage_warnings({place}, files_of(100, 2));
    BOOST_REQUIRE(warnings.size() == 2u);
    BOOST_TEST(warnings[0].message == "512.0 MiB are left on the file system of the root '/home/ada/det'");
    BOOST_TEST(
        warnings[1].message ==
        "100 files can still be made on the file system of the root '/home/ada/det', and the experiment "
        "makes about 1310 and those of its checkpoints");
    place.space = StorageAmount{5 * gibibyte, std::nullopt};  // btrfs
    place.quotas = parse_quotas(quota_output);
    auto const of_quota = find_storage_warnings({place}, 10);
    BOOST_REQUIRE(of_quota.size() == 1u);
    BOOST_TEST(of_quota[0].message ==
               "927.7 MiB of your quota of 878.9 MiB are used where the root '/home/ada/det' is");
    place.quotas[0].used.files = 9'000;
    BOOST_TEST(find_storage_warnings({place}, 10).at(1).message ==
               "9000 of your quota of 10000 files are used where the root '/home/ada/det' is");
}

BOOST_FIXTURE_TEST_CASE(create_warns_of_a_quota_and_does_not_wait_for_one, Fixture) {
    auto const table = "echo '" + device() + " 95 90 100 6days 12 0 0 0'\n";
    write_program("quota", table + "exit 1\n");
    BOOST_REQUIRE_MESSAGE(create(" --dry-run") == 0, err);
    BOOST_TEST(contains(err, "warning: 95.0 KiB of your quota of 90.0 KiB are used where the root '" +
                                 root.path().string() + "' is"),
               err);
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_TEST(contains(err, "of your quota of 90.0 KiB"), err);
    write_program("quota", "exec /bin/sleep 600\n");
    auto const begin = std::chrono::steady_clock::now();
    BOOST_REQUIRE_MESSAGE(create(" --dry-run") == 0, err);
    BOOST_TEST(!contains(err, "quota"), err);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)));
}

BOOST_FIXTURE_TEST_CASE(experiments_that_the_site_deletes_are_named, Fixture) {
    write_examples(root);
    environment.set("DET_SITE", (directory / "site.yaml").string());
    auto const write_site = [&](std::string const& more) {
        must(write_file(directory / "site.yaml", "version: 1\npools: [{name: compute}]\n" + more));
    };
    slurm.other_jobs.push_back(job_of(2, slurm::JobState::running, "RUNNING"));
    write_site("purge_days: 30\n");
    clock.set_by(std::chrono::hours(17 * 24));
    BOOST_REQUIRE_MESSAGE(run("experiment list") == 0, err);
    BOOST_TEST(contains(err,
                        "warning: the site deletes files that are 30 days old: those of experiment 1, 3 from "
                        "2026-12-21 on"),
               err);
    BOOST_TEST(contains(out, "Purged"), out);
    auto const rows = ask("experiment list");
    BOOST_TEST(rows.at(0).at("purged") == "2026-12-21T12:20:00.000000Z");
    BOOST_TEST(!rows.at(1).contains("purged"));  // it runs
    BOOST_TEST(run("site check") >= 0);
    BOOST_TEST(contains(out, "note: your root: the site deletes files that are 30 days old"), out);
    write_site("purge_days: 30\nstorage_root: /scratch/%u/det\n");  // this root is elsewhere
    BOOST_REQUIRE_MESSAGE(run("experiment list") == 0, err);
    BOOST_TEST(!contains(err, "deletes"), err);
    write_site("purge_days: 365\n");  // not soon
    BOOST_REQUIRE_MESSAGE(run("experiment list") == 0, err);
    BOOST_TEST(!contains(err, "deletes"), err);
    BOOST_TEST(contains(out, "Purged"), out);
}

BOOST_AUTO_TEST_CASE(the_purged_directory_is_the_storage_root_before_the_user) {
    config::SiteFile site;
    BOOST_TEST(!find_purge(site));
    site.purge_days = 30;
    BOOST_TEST(find_purge(site).value().directory == "");
    site.storage_root = "/scratch%%2/%u/det";
    BOOST_TEST(find_purge(site).value().directory == "/scratch%2/");
}

BOOST_AUTO_TEST_SUITE_END()
