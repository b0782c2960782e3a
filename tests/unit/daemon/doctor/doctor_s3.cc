// SPDX-License-Identifier: Apache-2.0
#include "doctor_s3.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace s3rdmafs::daemon::doctor {
namespace {

using fakes::error_answer;
using fakes::SeenRequest;
using rdma::mlx5::DcToken;

constexpr std::string_view kBucketPath = "/data";

#define PAST_SANITIZERS __attribute__((no_sanitize("thread"), no_sanitize("address"), noinline))

// Byte by byte: memcpy would be seen again.
PAST_SANITIZERS void copy(volatile std::byte* to, const volatile std::byte* from,
                          std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

std::string decoded(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::sscanf(text.c_str() + i + 1, "%2x", &code) == 1) {
      plain += static_cast<char>(code);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The value of one of "a=1&b"'s arguments; nothing where it is not there.
std::optional<std::string> argument(const SeenRequest& request, const std::string& name) {
  std::size_t begin = 0;
  while (begin <= request.query.size()) {
    const std::size_t end = std::min(request.query.find('&', begin), request.query.size());
    const std::string pair = request.query.substr(begin, end - begin);
    if (pair == name) return "";
    if (pair.starts_with(name + "=")) return decoded(pair.substr(name.size() + 1));
    begin = end + 1;
  }
  return std::nullopt;
}

std::string header(const SeenRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string() : found->second;
}

std::string entry(const std::string& key, const std::string& etag, std::size_t size_bytes) {
  return "<Contents><Key>" + key + "</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>" +
         "<ETag>" + etag + "</ETag><Size>" + std::to_string(size_bytes) + "</Size></Contents>";
}

}  // namespace

DoctorS3::DoctorS3(const fakes::RecordingVerbs& verbs) : verbs_(verbs) {
  http_.answer_by([this](const SeenRequest& request) { return answer(request); });
}

void DoctorS3::plant(ServerFault fault) {
  const MutexLock lock(mutex_);
  fault_ = fault;
}

void DoctorS3::store(const std::string& key, const std::string& bytes) {
  const MutexLock lock(mutex_);
  put_object(key, bytes);
}

std::vector<std::string> DoctorS3::keys() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, object] : objects_) keys.push_back(key);
  return keys;
}

void DoctorS3::catch_up() {
  const MutexLock lock(mutex_);
  for (const LateWrite& late : late_) write(late.token, late.bytes);
  late_.clear();
}

DoctorS3::Answer DoctorS3::answer(const SeenRequest& request) {
  const MutexLock lock(mutex_);
  if (fault_ == ServerFault::kNoHttp) return {.cut = true};
  if (header(request, "authorization").empty()) return answer_unsigned();
  if (fault_ == ServerFault::kDenied) return error_answer(403, "SignatureDoesNotMatch");
  if (fault_ == ServerFault::kNoBucket) return error_answer(404, "NoSuchBucket");
  const std::string path = decoded(request.url);
  const std::string key =
      path.size() > kBucketPath.size() + 1 ? path.substr(kBucketPath.size() + 1) : std::string();
  if (key.empty()) return list(request);
  if (request.method == "GET" || request.method == "HEAD") return get(request, key);
  if (request.method == "PUT") return put(request, key);
  if (request.method == "POST") {
    return {.body =
                "<InitiateMultipartUploadResult><UploadId>upload</UploadId>"
                "</InitiateMultipartUploadResult>"};
  }
  if (!argument(request, "uploadId")) objects_.erase(key);
  return {.status = 204};
}

DoctorS3::Answer DoctorS3::answer_unsigned() const {
  Answer answer = error_answer(403, "AccessDenied");
  if (fault_ == ServerFault::kWrongClock) {
    answer.headers.emplace_back("Date", "Sat, 01 Jan 2000 00:00:00 GMT");
  }
  return answer;
}

DoctorS3::Answer DoctorS3::list(const SeenRequest& request) {
  const std::string prefix = argument(request, "prefix").value_or("");
  const bool is_flat =
      argument(request, "delimiter").value_or("").empty() || fault_ == ServerFault::kNoDelimiter;
  std::string contents;
  std::set<std::string> folders;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t slash = key.find('/', prefix.size());
    if (is_flat || slash == std::string::npos) {
      contents += entry(key, object.etag, object.bytes.size());
    } else {
      folders.insert(key.substr(0, slash + 1));
    }
  }
  for (const std::string& folder : folders) {
    contents += "<CommonPrefixes><Prefix>" + folder + "</Prefix></CommonPrefixes>";
  }
  return {.body = "<ListBucketResult><IsTruncated>false</IsTruncated>" + contents +
                  "</ListBucketResult>"};
}

DoctorS3::Answer DoctorS3::get(const SeenRequest& request, const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return error_answer(404, "NoSuchKey");
  const Object& object = found->second;
  unsigned long long first = 0;
  unsigned long long last = object.bytes.size() - 1;
  std::sscanf(header(request, "range").c_str(), "bytes=%llu-%llu", &first, &last);
  const std::size_t length = last - first + 1;
  const std::string token = header(request, "x-amz-rdma-token");
  const bool ignores = token.empty() || fault_ == ServerFault::kNoReplyHeader;
  Answer answer;
  if (ignores || fault_ == ServerFault::kNoRdma) {
    answer.body = object.bytes.substr(first, length);
    if (!ignores) answer.headers.emplace_back("x-amz-rdma-reply", "501");
  } else {
    answer = get_by_rdma(token, object, length);
  }
  if (answer.status < 300) answer.status = 206;
  answer.headers.emplace_back("ETag", object.etag);
  answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(first) + "-" +
                                                   std::to_string(last) + "/" +
                                                   std::to_string(object.bytes.size()));
  return answer;
}

DoctorS3::Answer DoctorS3::get_by_rdma(const std::string& token, const Object& object,
                                       std::size_t length) {
  if (fault_ == ServerFault::kRejectsTokens) return error_answer(400, "InvalidArgument");
  if (find(token, length) == nullptr) return error_answer(500, "InternalError");
  std::string bytes = object.bytes.substr(0, length);
  if (fault_ == ServerFault::kWrongBytes) bytes.front() = static_cast<char>(~bytes.front());
  if (fault_ == ServerFault::kTooManyBytes) bytes = object.bytes.substr(0, length + 1);
  if (fault_ == ServerFault::kLateBytes) {
    late_.push_back({.token = token, .bytes = std::move(bytes)});
  } else {
    write(token, bytes);
  }
  Answer answer{.headers = {{"x-amz-rdma-reply", "206"}}};
  if (fault_ != ServerFault::kNoByteCount) {
    answer.headers.emplace_back("x-amz-rdma-bytes-transferred", std::to_string(length));
  }
  return answer;
}

DoctorS3::Answer DoctorS3::put(const SeenRequest& request, const std::string& key) {
  const std::string token = header(request, "x-amz-rdma-token");
  Answer answer;
  std::string bytes = request.body;
  if (!token.empty()) {
    const bool declines = fault_ == ServerFault::kNoRdmaWrite || fault_ == ServerFault::kNoRdma;
    if (declines) return {.headers = {{"x-amz-rdma-reply", "501"}}};
    bytes = read(token);
    if (fault_ == ServerFault::kSpoilsWrites) bytes.front() = static_cast<char>(~bytes.front());
    answer.headers.emplace_back("x-amz-rdma-reply", "200");
    answer.headers.emplace_back("x-amz-rdma-bytes-transferred", std::to_string(bytes.size()));
  }
  if (argument(request, "partNumber")) {
    answer.headers.emplace_back("ETag", "\"part\"");
    return answer;
  }
  put_object(key, std::move(bytes));
  answer.headers.emplace_back("ETag", objects_.at(key).etag);
  return answer;
}

void DoctorS3::put_object(const std::string& key, std::string bytes) {
  const auto old = objects_.find(key);
  const bool keeps_etag = fault_ == ServerFault::kSameEtags && old != objects_.end();
  std::string etag = keeps_etag ? old->second.etag : "\"" + std::to_string(next_etag_++) + "\"";
  objects_[key] = {.bytes = std::move(bytes), .etag = std::move(etag)};
}

void DoctorS3::write(const std::string& token, const std::string& bytes) {
  std::byte* const to = find(token, bytes.size());
  if (to != nullptr) copy(to, reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
}

std::string DoctorS3::read(const std::string& token) {
  const auto parsed = DcToken::parse(token, rdma::mlx5::DcTokenForm::k81);
  if (!parsed) return {};
  std::string bytes(parsed->window_bytes, '\0');
  const std::byte* const from = find(token, bytes.size());
  if (from != nullptr) copy(reinterpret_cast<std::byte*>(bytes.data()), from, bytes.size());
  return bytes;
}

std::byte* DoctorS3::find(const std::string& token, std::size_t length) {
  const auto parsed = DcToken::parse(token, rdma::mlx5::DcTokenForm::k81);
  if (!parsed) return nullptr;
  // A device's addresses are the memory's own, or those modulo the size of a huge page.
  constexpr std::uint64_t kPage = 2UL * 1024 * 1024;
  const std::string device = parsed->target.gid.back() == 2 ? "mlx5_0" : "mlx5_1";
  for (const fakes::SeenRegistration& region : verbs_.registrations()) {
    if (!region.is_alive || region.rkey != parsed->rkey || region.device != device) continue;
    const auto base = reinterpret_cast<std::uintptr_t>(region.address);
    const std::size_t offset = (parsed->window_address - base) % kPage;
    if (offset + length > region.length) continue;
    return static_cast<std::byte*>(region.address) + offset;
  }
  return nullptr;
}

}  // namespace s3rdmafs::daemon::doctor
