// A user shares his experiments with his group, and a member of the group reads them, on a real Slurm. The
// member can change nothing, and learns no secret. A service account provides the site file and the
// installation.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace attacks_shared_roots {

namespace fs = std::filesystem;

constexpr char configuration[] =
    "name: shared\n"
    "entrypoint: echo the loss is 7\n"
    "searcher: {name: single, metric: x, max_length: 1}\n"
    "resources: {slots_per_trial: 1}\n"
    "data: {secrets: {token: hunter2}}\n"
    "max_restarts: 0\n";

// Asks a tracker on its unix socket: python3 ask SOCKET PATH
constexpr char ask_tracker[] =
    "import socket, sys\n"
    "s = socket.socket(socket.AF_UNIX)\n"
    "s.settimeout(20)\n"
    "s.connect(sys.argv[1])\n"
    "s.sendall(('GET %s HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' % sys.argv[2]).encode())\n"
    "answer = b''\n"
    "while True:\n"
    "    more = s.recv(65536)\n"
    "    if not more: break\n"
    "    answer += more\n"
    "print(answer.split(b'\\r\\n\\r\\n', 1)[1].decode())\n";

bool contains(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// A cluster whose site gives each user a root in one directory. researcher and colleague are in the group
/// `project`.
struct Site : LoopbackCluster {
    fs::path const roots = shared() / "roots";
    fs::path const root = roots / "researcher";
    fs::path const site = shared() / "site.yaml";

    Site() : LoopbackCluster(LoopbackOptions{.nodes = 1, .slots = 1}) {
        must(make_directory(roots, 01777));
        must(write_file(site, fmt::format("version: 1\nstorage_root: {}/%u\n", roots.string()), 0644));
        run_as("researcher",
               fmt::format("mkdir -m 700 {0} code && chgrp project {0} && printf '%s' '{1}' >x.yaml",
                           root.string(), configuration));
    }
    ProcessOutput try_as(std::string const& user, std::string const& script) const {
        return login(
            user,
            {"bash", "-c",
             fmt::format("cd ~ && unset DET_ROOT && export DET_SITE={} && {{ {}\n}}", site.string(), script)},
            90s);
    }
    std::string run_as(std::string const& user, std::string const& script) const {
        auto const output = try_as(user, script);
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script + ": " + output.out + output.err);
        return std::string(trim(output.out));
    }
    nlohmann::json ask_as(std::string const& user, std::string const& command) const {
        return nlohmann::json::parse(run_as(user, "det-submit " + command + " --json"));
    }
};

}  // namespace attacks_shared_roots

using namespace attacks_shared_roots;

BOOST_AUTO_TEST_SUITE(attacks_shared_roots)

BOOST_FIXTURE_TEST_CASE(a_member_of_the_group_reads_what_is_shared_and_changes_nothing, Site) {
    run_as("researcher", "det-submit experiment create x.yaml code --paused");  // 1 stays private
    BOOST_TEST(try_as("colleague", "ls " + root.string()).exit_code != 0);
    run_as("researcher", "det-submit config set sharing group");
    run_as("researcher", "det-submit experiment create x.yaml code");
    run_as("researcher", "det-submit experiment wait 2 --timeout 60");
    auto const option = " --root " + root.string();

    auto const rows = ask_as("colleague", "ls --all");
    BOOST_REQUIRE(rows.size() == 1u);
    BOOST_TEST(rows[0].at("id") == 2);
    BOOST_TEST(rows[0].at("owner") == "researcher");
    BOOST_TEST(rows[0].at("root") == root.string());
    BOOST_TEST(rows[0].at("state") == "COMPLETED");
    auto const described = try_as("colleague", "det-submit status 2" + option);
    BOOST_TEST(described.exit_code == 0);
    BOOST_TEST(contains(described.err, "is that of researcher"), described.err);
    BOOST_TEST(contains(run_as("colleague", "det-submit logs 2" + option), "the loss is 7"));
    run_as("colleague", "det-submit experiment config 2" + option);
    run_as("colleague", "det-submit experiment report 2" + option);
    run_as("colleague", "det-submit experiment download-model-def 2 --output-dir got" + option);
    run_as("colleague", "det-submit experiment export 2 --html page.html" + option);
    BOOST_TEST(try_as("colleague", "det-submit status 1" + option).exit_code == 1);  // not shared

    // The tracker of colleague serves the page of researcher's root, and says whose it is.
    auto const tracker = ask_as("colleague", "tracker start" + option);
    must(write_file(shared() / "ask.py", ask_tracker, 0644));
    auto const get = [&](std::string const& path) {
        return nlohmann::json::parse(
            run_as("colleague", fmt::format("python3 {} {} {}", (shared() / "ask.py").string(),
                                            tracker.at("socket").get<std::string>(), path)));
    };
    auto const described_tracker = get("/v1/tracker");
    BOOST_TEST(described_tracker.at("owner") == "researcher");
    BOOST_TEST(described_tracker.at("is_foreign") == true);
    BOOST_TEST(get("/v1/experiments/2").at("answer").at("state") == "COMPLETED");
    run_as("colleague", "det-submit tracker stop" + option);

    auto const before =
        run_as("researcher", "cd " + root.string() + " && find . -type f | sort | xargs sha256sum");
    for (std::string const command :
         {"experiment pause 2", "experiment delete 2 --yes", "experiment archive 2",
          "experiment set name 2 x", "experiment create x.yaml code", "experiment continue 2",
          "config set sharing private"}) {
        auto const refused = try_as("colleague", "det-submit " + command + option);
        BOOST_TEST(refused.exit_code == 1, command);
        BOOST_TEST(contains(refused.err, "belongs to researcher"), refused.err);
        BOOST_TEST(contains(refused.err, "[not-yours]"), refused.err);
    }
    BOOST_TEST(try_as("colleague", "touch " + root.string() + "/experiments/2/desired").exit_code != 0);
    BOOST_TEST(run_as("researcher", "cd " + root.string() + " && find . -type f | sort | xargs sha256sum") ==
               before);

    // Nothing that colleague can read has the secret, or that of the run.
    BOOST_TEST(run_as("researcher", "grep -rl hunter2 " + root.string() + " | wc -l") != "0");
    BOOST_TEST(run_as("colleague", "grep -rl hunter2 " + root.string() + " 2>/dev/null | wc -l") == "0");
    BOOST_TEST(
        run_as("researcher", "find " + root.string() +
                                 "/experiments/2 \\( -name secrets.json -o -name rendezvous -o -type s \\) "
                                 "-perm /077 | wc -l") == "0");
    BOOST_TEST(
        run_as("researcher", "find " + root.string() + " -perm /027 ! -perm /007 -perm /020 | wc -l") == "0");
}

BOOST_FIXTURE_TEST_CASE(a_root_full_of_traps_hangs_nobody, Site) {
    run_as("colleague",
           fmt::format("mkdir -p {0}/experiments/1/events {0}/experiments/2 {0}/experiments/3; "
                       "mkfifo {0}/experiments/1/spec.json; ln -s ~researcher/x.yaml "
                       "{0}/experiments/2/spec.json; truncate -s 3G {0}/experiments/3/spec.json; "
                       "chmod -R a+rX {0}; chmod a+r {0}/experiments/1/spec.json",
                       (roots / "colleague").string()));
    auto const listed = try_as("researcher", "timeout 30 det-submit ls --all");
    BOOST_TEST(listed.exit_code == 0, listed.err);
    for (auto const* id : {"1", "2", "3"})
        BOOST_TEST(contains(listed.err, std::string("listing experiment ") + id), listed.err);
    // A fourth user can't put experiments there either: who writes into a root owns its files.
    BOOST_TEST(!contains(listed.out, "hunter2"));
}

BOOST_FIXTURE_TEST_CASE(hostile_packs_of_a_colleague_show_nothing_of_the_reader_and_hang_nobody, Site) {
    run_as("researcher",
           "det-submit config set sharing group && det-submit experiment create x.yaml code && det-submit "
           "experiment wait 1 --timeout 60 && det-submit experiment archive --pack 1");
    auto const option = " --root " + root.string();
    // Its configuration is private, as it has a secret: so is the pack.
    auto const hidden = try_as("colleague", "det-submit status 1" + option);
    BOOST_TEST(hidden.exit_code == 1);
    BOOST_TEST(contains(hidden.err, "[permission]"), hidden.err);
    for (std::string const command : {"archive --unpack 1", "archive --pack 1"}) {
        auto const refused = try_as("colleague", "det-submit experiment " + command + option);
        BOOST_TEST(contains(refused.err, "[not-yours]"), refused.err);
    }
    // 1 is a copy of a real pack; the others are a fifo, a file of the reader, that of another experiment,
    // one that is cut short, a device, and zeros.
    auto const pack = (shared() / "pack").string();
    fs::copy_file(root / "experiments/1/pack", pack);
    BOOST_REQUIRE(::chmod(pack.c_str(), 0644) == 0);
    run_as("colleague",
           fmt::format("for i in 1 2 3 4 5 6 7; do mkdir -p {0}/experiments/$i; done; cd {0}/experiments; "
                       "cat {1} >1/pack; mkfifo 2/pack; ln -s ~researcher/x.yaml 3/pack; cat {1} >4/pack; "
                       "head -c 2000 {1} >5/pack; ln -s /dev/zero 6/pack; truncate -s 3G 7/pack; "
                       "chmod -R a+rX {0}; chmod a+r 2/pack",
                       (roots / "colleague").string(), pack));
    auto const theirs = " --root " + (roots / "colleague").string();
    auto const listed = try_as("researcher", "timeout 60 det-submit ls --all");
    BOOST_TEST(listed.exit_code == 0, listed.err);
    for (auto const* const id : {"2", "3", "4", "5", "6", "7"}) {
        BOOST_TEST(contains(listed.err, std::string("listing experiment ") + id), listed.err);
        auto const refused =
            try_as("researcher", fmt::format("timeout 30 det-submit status {}{}", id, theirs));
        BOOST_TEST(refused.exit_code != 0, id);
        BOOST_TEST(refused.exit_code != 124, id << " hangs");
        BOOST_TEST(!contains(refused.out + refused.err, "hunter2"), refused.err);
    }
    BOOST_TEST(!contains(listed.out + listed.err, "hunter2"));
    // The reader's own experiment has the same files as their copy.
    BOOST_TEST(ask_as("researcher", "experiment describe 1").at("state") == "COMPLETED");
    auto const cached = std::string("/var/tmp/det-$(id -u)/unpacked");
    BOOST_TEST(run_as("researcher", "ls " + cached + " | wc -l") != "0");
    BOOST_TEST(run_as("researcher", "find " + cached + " -type f -perm /077 | wc -l") == "0");
    run_as("researcher", "det-submit experiment archive --unpack 1");
    BOOST_TEST(contains(run_as("researcher", "det-submit logs 1"), "the loss is 7"));
}

BOOST_FIXTURE_TEST_CASE(a_service_account_provides_the_site_file_and_the_installation, Site) {
    run_as("colleague",
           "chmod 711 . && mkdir -m 755 service service/bin && cp $(dirname $(command -v "
           "det-submit))/det-submit "
           "service/bin/ && chmod 755 service/bin/det-submit && printf 'version: 1\\nname: ours\\n' "
           ">service/site.yaml && chmod 644 service/site.yaml");
    auto const service = shared() / "home/colleague/service";
    auto const check = [&](std::string const& program) {
        return try_as("researcher",
                      fmt::format("export DET_SITE={}/site.yaml; {} site check", service.string(), program));
    };
    auto const refused = check("det-submit");
    BOOST_TEST(refused.exit_code == 1);
    BOOST_TEST(contains(refused.err, "belongs to another user (owner colleague"), refused.err);
    // Its owner owns this program too, and could replace it.
    auto const own = check((service / "bin/det-submit").string());
    BOOST_TEST(!contains(own.err, "belongs to another user"), own.err);
    BOOST_TEST(contains(own.out, (service / "site.yaml").string()), own.out + own.err);
    // Root names the service account.
    auto const as_root = [&](std::string const& script) {
        auto const output = login("root", {"bash", "-c", script});
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    };
    as_root("mkdir -p /etc/det && printf 'version: 1\\ntrusted_owners: [colleague]\\n' >/etc/det/site.yaml");
    auto const named = check("det-submit");
    BOOST_TEST(contains(named.out, (service / "site.yaml").string()), named.out + named.err);
    as_root("printf 'version: 1\\ntrusted_owners: [nobody]\\n' >/etc/det/site.yaml");
    BOOST_TEST(check("det-submit").exit_code == 1);
    BOOST_TEST(contains(check("det-submit").err, "[unsafe-owner]"));
    as_root("rm -r /etc/det");
}

BOOST_AUTO_TEST_SUITE_END()
