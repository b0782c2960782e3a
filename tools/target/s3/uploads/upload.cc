// SPDX-License-Identifier: Apache-2.0
#include "target/s3/uploads/upload.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

// Large enough for few system calls, small enough to stay in a core's cache between read and hash.
constexpr std::size_t kHashPieceBytes = 256 * kKiB;
constexpr std::size_t kMd5Bytes = 16;

/// The checksums a request announces in headers or as trailers.
std::vector<ChecksumKind> announced_checksums(const Request& request) {
  std::vector<ChecksumKind> kinds;
  const auto add = [&](std::optional<ChecksumKind> kind) {
    if (kind && std::ranges::find(kinds, *kind) == kinds.end()) kinds.push_back(*kind);
  };
  for (const auto& [name, value] : request.headers) add(checksum_of_header(name));
  if (auto trailer = request.header("x-amz-trailer")) {
    std::string name;
    for (const char c : *trailer + ",") {
      if (c == ',') {
        add(checksum_of_header(name));
        name.clear();
      } else if (c != ' ') {
        name.push_back(ascii_lower(c));
      }
    }
  }
  if (auto algorithm = request.header("x-amz-sdk-checksum-algorithm")) {
    add(checksum_of_algorithm(*algorithm));
  }
  return kinds;
}

/// "aws-chunked" is this request's framing, not the object's.
std::string without_aws_chunked(const std::string& content_encoding) {
  std::string kept;
  std::string item;
  for (const char c : content_encoding + ",") {
    if (c != ',') {
      if (c != ' ') item.push_back(c);
      continue;
    }
    if (!item.empty() && item != "aws-chunked") kept += (kept.empty() ? "" : ",") + item;
    item.clear();
  }
  return kept;
}

}  // namespace

UploadBody UploadBody::start(const Services& services, const Call& call,
                             std::optional<ChecksumKind> wanted, StagedFile file) {
  auto kinds = announced_checksums(call.request);
  if (wanted && std::ranges::find(kinds, *wanted) == kinds.end()) kinds.push_back(*wanted);
  const bool needs_md5 = call.request.header("content-md5").has_value();
  UploadBody body(std::move(file), services.etags, needs_md5, std::move(kinds));
  body.compares_checksums_ = services.behaviour.compares_checksums;
  return body;
}

void UploadBody::hash(std::span<const std::byte> bytes) {
  digests_.update(bytes);
  size_bytes_ += bytes.size();
}

S3Result<void> UploadBody::receive(std::span<const std::byte> bytes) {
  const auto& place = file_.place();
  if (place && bytes.size() > place->length_bytes() - size_bytes_) {
    return refuse(kInvalidRequest, "The body is longer than the request says.");
  }
  hash(bytes);
  return file_.append(bytes.data(), bytes.size());
}

S3Result<void> UploadBody::hash_file(std::uint64_t size_bytes) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(size_bytes, kHashPieceBytes));
  while (size_bytes_ < size_bytes) {
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), size_bytes - size_bytes_);
    const ssize_t got = ::pread(file_.fd(), piece.data(), wanted,
                                static_cast<off_t>(file_.offset_bytes() + size_bytes_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return refuse_errno("read back what RDMA wrote", got < 0 ? errno : EIO);
    hash(std::span(piece).first(static_cast<std::size_t>(got)));
  }
  return {};
}

void UploadBody::believe(const Request& request, std::uint64_t size_bytes) {
  is_believed_ = true;
  size_bytes_ = size_bytes;
  std::string claims = std::to_string(size_bytes);
  for (const ChecksumKind kind : kinds_) {
    claims += ' ' + request.header_or(checksum_header(kind), "");
  }
  digests_ = BodyDigests(etags_, false, {});
  digests_.update(std::as_bytes(std::span(claims)));
}

S3Result<void> UploadBody::check_md5(const Request& request, const std::string& md5) const {
  const auto claimed = request.header("content-md5");
  if (!claimed) return {};
  const auto raw = from_base64(*claimed);
  if (!raw || raw->size() != kMd5Bytes) return refuse(kInvalidDigest);
  if (is_believed_ || *raw == md5) return {};
  return refuse(kBadDigest, "The body does not match Content-MD5.");
}

NameValues UploadBody::believed_checksums(const Request& request) const {
  NameValues believed;
  for (const ChecksumKind kind : kinds_) {
    const std::string_view name = checksum_header(kind);
    if (const auto claimed = request.header(name)) believed.emplace_back(name, *claimed);
  }
  return believed;
}

S3Result<BodySummary> UploadBody::finish(const Request& request, const NameValues& trailers) {
  const FoundDigests found = digests_.finish();
  BodySummary summary{.etag = found.etag, .checksums = {}, .size_bytes = size_bytes_};
  if (auto good = check_md5(request, found.md5); !good) return pass_on(good);
  if (is_believed_) summary.checksums = believed_checksums(request);
  for (const auto& [kind, raw] : found.checksums) {
    const std::string_view name = checksum_header(kind);
    const std::string computed = to_base64(raw);
    auto claimed = request.header(name);
    for (const auto& [trailer, value] : trailers) {
      if (trailer == name) claimed = value;
    }
    if (compares_checksums_ && claimed && *claimed != computed) {
      if (!from_base64(*claimed)) {
        return refuse(kInvalidRequest, fmt::format("Value for {} header is invalid.", name));
      }
      return refuse(kBadDigest, fmt::format("The body does not match {}.", name));
    }
    summary.checksums.emplace_back(name, computed);
  }
  return summary;
}

NameValues kept_headers(const Request& request) {
  constexpr std::array<std::string_view, 5> kKept{"cache-control", "content-disposition",
                                                  "content-language", "content-type", "expires"};
  NameValues kept;
  for (const auto& [name, value] : request.headers) {
    if (std::ranges::find(kKept, name) != kKept.end() || name.starts_with("x-amz-meta-") ||
        is_storage_header(name)) {
      kept.emplace_back(name, value);
    } else if (name == "content-encoding") {
      if (std::string encoding = without_aws_chunked(value); !encoding.empty()) {
        kept.emplace_back(name, std::move(encoding));
      }
    }
  }
  return kept;
}

std::string object_etag(const Services& services, const std::string& digest,
                        std::uint64_t size_bytes) {
  if (!services.behaviour.has_weak_etags) return digest;
  const auto second = std::chrono::system_clock::to_time_t(services.clock.wall_now());
  return fmt::format("{:x}-{:x}", size_bytes, second);
}

S3Result<void> check_upload_headers(const Services& services, const Request& request,
                                    KeyChange change) {
  auto conditions = write_conditions(services.behaviour, request, change);
  if (!conditions) return pass_on(conditions);
  if (auto good = check_storage_headers(services.terms, request); !good) return good;
  for (const auto& [name, value] : request.headers) {
    if (name == "x-amz-tagging" || name.starts_with("x-amz-object-lock-") ||
        name == "x-amz-website-redirect-location" || name.starts_with("x-amz-grant-")) {
      return refuse(kNotImplemented, fmt::format("This server does not implement {}.", name));
    }
    if (name == "x-amz-acl" && value.starts_with("public-")) {
      return refuse(kNotImplemented,
                    "This server has no public objects; start it with --anonymous-read instead.");
    }
  }
  return {};
}

}  // namespace s3rdmafs::target
