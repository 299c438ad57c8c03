#include "s3_client.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace det::checkpoint::s3 {
namespace {

constexpr std::pair<std::string_view, char> entities[] = {{"&quot;", '"'}, {"&apos;", '\''}, {"&lt;", '<'},
                                                          {"&gt;", '>'},   {"&amp;", '&'},   {"&#34;", '"'},
                                                          {"&#39;", '\''}};

std::string replace_entities(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        std::size_t taken = 1;
        char c = text.front();
        for (auto const& [entity, character] : entities) {
            if (!text.starts_with(entity)) continue;
            taken = entity.size();
            c = character;
            break;
        }
        plain.push_back(c);
        text.remove_prefix(taken);
    }
    return plain;
}

constexpr long not_found = 404, too_many_requests = 429, server_error = 500;

bool is_temporary(Result<HttpResponse> const& answer) {
    if (!answer) return answer.error().code == codes::transport;
    return answer->status == too_many_requests || answer->status >= server_error;
}

std::string sha256_of(std::string_view bytes) {
    Sha256 sum;
    sum.update(bytes);
    return sum.finish();
}

std::string host_of(std::string_view url) {
    auto const scheme = url.find("://");
    if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
    return std::string(url.substr(0, url.find('/')));
}

Error refused(std::string const& method, std::string const& key, HttpResponse const& response) {
    return {response.status == not_found ? codes::no_such_file : codes::transport,
            fmt::format("S3 answers {} to {} of '{}': {} {}", response.status, method, key,
                        text_of(response.body, "Code"), text_of(response.body, "Message"))};
}

/// Maps a file into memory.
class MappedFile {
public:
    static Result<MappedFile> open(std::filesystem::path const& path) {
        UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat info {};
        if (!fd || ::fstat(fd.get(), &info) != 0)
            return os_error(fmt::format("read '{}'", path.string()), errno);
        auto const size = static_cast<std::size_t>(info.st_size);
        if (size == 0) return MappedFile(nullptr, 0);
        void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
        if (memory == MAP_FAILED) return os_error(fmt::format("map '{}'", path.string()), errno);
        return MappedFile(static_cast<char const*>(memory), size);
    }
    MappedFile(MappedFile&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile() {
        if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
    }
    std::string_view bytes() const { return {data_, size_}; }

private:
    MappedFile(char const* data, std::size_t size) : data_(data), size_(size) {}
    char const* data_;
    std::size_t size_;
};

}  // namespace

std::vector<std::string> texts_of(std::string_view xml, std::string_view name) {
    auto const open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
    std::vector<std::string> texts;
    for (auto at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
        at += open.size();
        auto const end = xml.find(close, at);
        if (end == std::string_view::npos) break;
        texts.push_back(replace_entities(xml.substr(at, end - at)));
    }
    return texts;
}

std::string text_of(std::string_view xml, std::string_view name) {
    auto texts = texts_of(xml, name);
    return texts.empty() ? std::string() : std::move(texts.front());
}

Result<std::vector<std::string>> sum_parts(std::filesystem::path const& path, std::uint64_t part_size_bytes) {
    DET_TRY_ASSIGN(auto const file, MappedFile::open(path));
    std::vector<std::string> sums;
    for (auto bytes = file.bytes(); !bytes.empty();) {
        auto const part = bytes.substr(0, part_size_bytes);
        sums.push_back(sha256_of(part));
        bytes.remove_prefix(part.size());
    }
    return sums;
}

S3Client::S3Client(Http http, Options options, Clock& clock)
    : http_(http), options_(std::move(options)), clock_(clock), host_(host_of(options_.endpoint_url)) {
    while (options_.endpoint_url.ends_with('/')) options_.endpoint_url.pop_back();
}

Result<HttpResponse> S3Client::send_once(Call const& call) const {
    auto const path = fmt::format("/{}{}{}", options_.bucket, call.key.empty() ? "" : "/", call.key);
    auto const sum = call.body_sha256.empty() ? sha256_of(call.body) : call.body_sha256;
    UnsignedRequest const request{call.method, host_, path, call.query, {}, sum};
    auto const query = canonical_query(call.query);
    return http_.exchange(
        {.method = call.method,
         .url = fmt::format("{}{}{}{}", options_.endpoint_url, uri_encode(path, Slashes::stay),
                            query.empty() ? "" : "?", query),
         .headers = sign(request, options_.credentials, options_.region, clock_.now()),
         .body = call.body,
         .into = call.into});
}

Result<HttpResponse> S3Client::send(Call const& call) const {
    constexpr int attempts_max = 6;
    auto pause = std::chrono::milliseconds(100);
    for (int attempt = 1;; ++attempt) {
        auto answer = send_once(call);
        if (answer && answer->is_success()) return answer;
        if (!is_temporary(answer) || attempt == attempts_max) {
            if (answer) return refused(call.method, call.key, *answer);
            return answer;
        }
        clock_.sleep_for(pause);
        pause *= 2;
    }
}

Status S3Client::put(std::string const& key, std::string_view bytes) const {
    DET_TRY(send({.method = "PUT", .key = key, .body = bytes}));
    return Ok{};
}

Result<std::vector<std::string>> S3Client::put_file(std::string const& key,
                                                    std::filesystem::path const& path) const {
    DET_TRY_ASSIGN(auto const file, MappedFile::open(path));
    auto const bytes = file.bytes();
    std::vector<std::string> sums;
    if (bytes.size() > options_.part_size_bytes) {
        DET_TRY(put_in_parts(key, bytes, sums));
        return sums;
    }
    auto sum = sha256_of(bytes);
    DET_TRY(send({.method = "PUT", .key = key, .body = bytes, .body_sha256 = sum}));
    if (!bytes.empty()) sums.push_back(std::move(sum));
    return sums;
}

Result<std::string> S3Client::put_parts(std::string const& key, std::string const& upload,
                                        std::string_view bytes, std::vector<std::string>& sums) const {
    std::string list;
    for (int number = 1; !bytes.empty(); ++number) {
        auto const part = bytes.substr(0, options_.part_size_bytes);
        sums.push_back(sha256_of(part));
        DET_TRY_ASSIGN(auto const answer,
                       send({.method = "PUT",
                             .key = key,
                             .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                             .body = part,
                             .body_sha256 = sums.back()}));
        auto const tag = answer.headers.find("etag");
        if (tag == answer.headers.end()) return Error{codes::transport, "S3 returned no ETag for a part"};
        list += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number, tag->second);
        bytes.remove_prefix(part.size());
    }
    return fmt::format("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", list);
}

Status S3Client::put_in_parts(std::string const& key, std::string_view bytes,
                              std::vector<std::string>& sums) const {
    DET_TRY_ASSIGN(auto const started, send({.method = "POST", .key = key, .query = {{"uploads", ""}}}));
    auto const upload = text_of(started.body, "UploadId");
    if (upload.empty()) return Error{codes::transport, "S3 returned no ID for an upload"};
    auto const completed = [&]() -> Status {
        DET_TRY_ASSIGN(auto const parts, put_parts(key, upload, bytes, sums));
        DET_TRY_ASSIGN(auto const end,
                       send({.method = "POST", .key = key, .query = {{"uploadId", upload}}, .body = parts}));
        // S3 may send status 200 first and report an error in the body later.
        if (end.body.find("<Error>") != std::string::npos) return refused("POST", key, end);
        return Ok{};
    }();
    // S3 keeps and charges for the parts of an incomplete upload, so a failed upload is aborted.
    if (!completed)
        static_cast<void>(send({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}}));
    return completed;
}

Result<std::string> S3Client::get(std::string const& key) const {
    DET_TRY_ASSIGN(auto answer, send({.method = "GET", .key = key}));
    return std::move(answer.body);
}

Status S3Client::get_file(std::string const& key, std::filesystem::path const& into) const {
    DET_TRY(send({.method = "GET", .key = key, .into = into}));
    return Ok{};
}

Status S3Client::remove(std::string const& key) const {
    auto const answer = send({.method = "DELETE", .key = key});
    if (answer || answer.error().code == codes::no_such_file) return Ok{};
    return answer.error();
}

Status S3Client::list(Query query, std::function<void(std::string const& page)> const& take) const {
    query.emplace_back("list-type", "2");
    for (std::string token;;) {
        auto of_page = query;
        if (!token.empty()) of_page.emplace_back("continuation-token", token);
        DET_TRY_ASSIGN(auto const answer, send({.method = "GET", .key = "", .query = of_page}));
        take(answer.body);
        token = text_of(answer.body, "NextContinuationToken");
        if (token.empty() || text_of(answer.body, "IsTruncated") != "true") return Ok{};
    }
}

Result<std::vector<std::string>> S3Client::list_keys(std::string const& prefix) const {
    std::vector<std::string> keys;
    DET_TRY(list({{"prefix", prefix}}, [&](auto const& page) {
        for (auto& key : texts_of(page, "Key")) keys.push_back(std::move(key));
    }));
    return keys;
}

Result<std::vector<std::string>> S3Client::list_folders(std::string const& prefix) const {
    std::vector<std::string> folders;
    DET_TRY(list({{"prefix", prefix}, {"delimiter", "/"}}, [&](auto const& page) {
        for (auto const& block : texts_of(page, "CommonPrefixes")) {
            auto const whole = text_of(block, "Prefix");
            if (whole.size() > prefix.size() + 1)
                folders.push_back(whole.substr(prefix.size(), whole.size() - prefix.size() - 1));
        }
    }));
    return folders;
}

}  // namespace det::checkpoint::s3
