// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <future>

#include <gtest/gtest.h>

#include "fuse/errno_map.h"
#include "rdma/shm/shm_fabric.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fault {
namespace {

// Enough for every operation of a row to have memory of its own, twice.
constexpr std::size_t kRegionBytes = 48 * kMiB;

// A GET that may be written late is tried again in other memory this often, as the cache does.
constexpr int kAttemptsMax = 3;

constexpr std::chrono::seconds kDeadline{20};

/// Starts an operation and waits for the value its continuation gets.
template <class T, class Start>
T wait_for(Start start) {
  std::promise<T> promise;
  start([&promise](T value) { promise.set_value(std::move(value)); });
  return promise.get_future().get();  // bounded by the operation's own deadline
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void add_path(Outcome& outcome, s3::Path path) {
  (path == s3::Path::kRdma ? outcome.by_rdma : outcome.by_http) = true;
}

/// As <errno.h> has it. strerrorname_np(3) is not in the C library of the portable build.
std::string name_of(int error) {
  switch (error) {
    case EIO:
      return "EIO";
    case EACCES:
      return "EACCES";
    case ENOENT:
      return "ENOENT";
    case ESTALE:
      return "ESTALE";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case ETIMEDOUT:
      return "ETIMEDOUT";
    default:
      return "errno " + std::to_string(error);
  }
}

}  // namespace

std::string Outcome::text() const {
  if (error) return name_of(fuse::errno_of(error->code));
  if (by_rdma && by_http) return "mixed";
  return by_rdma ? "rdma" : "http";
}

Client::Client(const TargetProcess& target, const s3::RdmaOptions& rdma,
               std::chrono::milliseconds patience, Fence fence)
    : file_(::memfd_create("client", MFD_CLOEXEC)),
      fabric_(rdma::shm::make_shm_fabric(target.shm_socket())),
      lying_fabric_(*fabric_),
      credentials_({.access_key_id = TargetProcess::kAccessKey,
                    .secret_access_key = TargetProcess::kSecretKey}) {
  EXPECT_EQ(::ftruncate(file_.get(), 2 * kRegionBytes), 0);
  void* mapped =
      ::mmap(nullptr, 2 * kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  memory_ = {static_cast<std::byte*>(mapped), 2 * kRegionBytes};
  rdma::Fabric& fabric = fence == Fence::kReal ? *fabric_ : lying_fabric_;
  gets_ = fabric
              .register_memory({.fd = file_.get(), .bytes = memory_.first(kRegionBytes)},
                               rdma::Access::kRemoteWrite)
              .value();
  puts_ = fabric
              .register_memory({.fd = file_.get(),
                                .offset_bytes = kRegionBytes,
                                .bytes = memory_.last(kRegionBytes)},
                               rdma::Access::kRemoteRead)
              .value();
  using std::chrono::milliseconds;
  s3::HttpObjectStore::Options options;
  options.bucket = TargetProcess::kBucket;
  options.endpoint.urls = {target.endpoint()};
  options.endpoint.region = "us-east-1";
  options.rdma = rdma;
  options.rdma.transfer_timeout = patience;
  options.http = {.event_threads = 1,
                  .connections_max = 4,
                  .connect_timeout = patience / 2,
                  .request_timeout = patience / 2};
  options.retry.attempts_max = 4;
  options.retry.backoff_first = milliseconds(1);
  options.retry.backoff_max = milliseconds(20);
  store_ = std::make_unique<s3::HttpObjectStore>(options, credentials_, clock_, metrics_);
}

Client::~Client() {
  store_.reset();
  gets_.reset();
  puts_.reset();
  fabric_.reset();
  ::munmap(memory_.data(), memory_.size());
}

Outcome Client::get(const std::string& key, std::uint64_t offset, std::size_t length,
                    std::string& bytes) {
  using Ended = std::expected<s3::Path, s3::GetFailure>;
  Outcome outcome;
  const std::string etag = etag_of(key);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const rdma::Window window = take(*gets_, gets_used_, length);
    const auto ended = wait_for<Ended>([&](s3::GetDone done) {
      store_->get({.key = key, .etag = etag, .offset_bytes = offset, .window = window},
                  clock_.now() + kDeadline, std::move(done));
    });
    if (ended) {
      bytes.assign(reinterpret_cast<const char*>(window.bytes().data()), length);
      settled_.push_back({.memory = window.bytes(), .expected = bytes});
      outcome.error.reset();
      add_path(outcome, *ended);
      return outcome;
    }
    outcome.error = ended.error().error;
    if (!ended.error().late_write_possible) return outcome;
    EXPECT_TRUE(gets_->fence()) << "the memory must stay in quarantine for ever";
    std::ranges::fill(window.bytes(), std::byte{'N'});  // another owner's from now on
    settled_.push_back({.memory = window.bytes(), .expected = std::string(length, 'N')});
  }
  return outcome;
}

Outcome Client::put(const std::string& key, const std::string& bytes, s3::Precondition when) {
  Outcome outcome;
  const s3::PutBody body = body_of(bytes);
  auto ended = wait_for<s3::PutOutcome>([&](s3::PutDone done) {
    store_->put(key, body, {.when = std::move(when), .metadata = {}}, clock_.now() + kDeadline,
                std::move(done));
  });
  reuse(body, ended.late_read_possible);
  add_path(outcome, ended.path);
  if (!ended.etag) outcome.error = ended.etag.error();
  return outcome;
}

Outcome Client::put_in_parts(const std::string& key, const std::vector<std::string>& parts) {
  Outcome outcome;
  const auto begun = wait_for<Result<std::string>>([&](Done<std::string> done) {
    store_->create_upload(key, {}, clock_.now() + kDeadline, std::move(done));
  });
  if (!begun) {
    outcome.error = begun.error();
    return outcome;
  }
  std::vector<s3::UploadedPart> uploaded;
  for (const std::string& part : parts) {
    const s3::PutBody body = body_of(part);
    const auto number = static_cast<unsigned>(uploaded.size() + 1);
    auto ended = wait_for<s3::PutOutcome>([&](s3::PutDone done) {
      store_->upload_part(key, *begun, number, body, clock_.now() + kDeadline, std::move(done));
    });
    reuse(body, ended.late_read_possible);
    add_path(outcome, ended.path);
    if (!ended.etag) {
      outcome.error = ended.etag.error();
      (void)wait_for<Result<void>>([&](Done<void> done) {
        store_->abort_upload(key, *begun, clock_.now() + kDeadline, std::move(done));
      });
      return outcome;
    }
    uploaded.push_back({.number = number,
                        .etag = *ended.etag,
                        .crc64nvme = body.crc64nvme,
                        .size_bytes = body.window.length});
  }
  const auto completed = wait_for<Result<std::string>>([&](Done<std::string> done) {
    store_->complete_upload(key, *begun, uploaded, {}, clock_.now() + kDeadline, std::move(done));
  });
  if (!completed) outcome.error = completed.error();
  return outcome;
}

Outcome Client::copy(const std::string& from, const std::string& to) {
  const auto copied = wait_for<Result<std::string>>([&](Done<std::string> done) {
    store_->copy(source_of(from), to, {}, clock_.now() + kDeadline, std::move(done));
  });
  return {.error = copied ? std::nullopt : std::optional(copied.error())};
}

Outcome Client::copy_part(const std::string& from, std::uint64_t offset, std::size_t length,
                          const std::string& to) {
  using Etag = Result<std::string>;
  const Etag upload = wait_for<Etag>([&](Done<std::string> done) {
    store_->create_upload(to, {}, clock_.now() + kDeadline, std::move(done));
  });
  if (!upload) return {.error = upload.error()};
  const Etag part = wait_for<Etag>([&](Done<std::string> done) {
    store_->upload_part_copy(source_of(from), offset, length, to, *upload, 1,
                             clock_.now() + kDeadline, std::move(done));
  });
  if (!part) {
    (void)wait_for<Result<void>>([&](Done<void> done) {
      store_->abort_upload(to, *upload, clock_.now() + kDeadline, std::move(done));
    });
    return {.error = part.error()};
  }
  const Etag completed = wait_for<Etag>([&](Done<std::string> done) {
    store_->complete_upload(to, *upload, {{.number = 1, .etag = *part, .size_bytes = length}},
                            s3::Precondition::absent(), clock_.now() + kDeadline, std::move(done));
  });
  return {.error = completed ? std::nullopt : std::optional(completed.error())};
}

Result<std::uint64_t> Client::size_of(const std::string& key) {
  const auto info = wait_for<Result<s3::ObjectInfo>>([&](Done<s3::ObjectInfo> done) {
    store_->head(key, clock_.now() + kDeadline, std::move(done));
  });
  if (!info) return std::unexpected(info.error());
  return info->size_bytes;
}

std::string Client::trespasses() const {
  for (const Settled& settled : settled_) {
    if (std::memcmp(settled.memory.data(), settled.expected.data(), settled.expected.size()) != 0) {
      return "memory was written after the server had lost the right to";
    }
  }
  return "";
}

rdma::Window Client::take(rdma::MemoryRegion& region, std::size_t& used, std::size_t length) {
  EXPECT_LE(used + length, kRegionBytes) << "the test needs larger regions";
  const rdma::Window window{.region = &region, .offset = used, .length = length};
  used += length;
  return window;
}

s3::PutBody Client::body_of(const std::string& bytes) {
  if (bytes.empty()) return {};
  const rdma::Window window = take(*puts_, puts_used_, bytes.size());
  std::memcpy(window.bytes().data(), bytes.data(), bytes.size());
  return {.window = window, .crc64nvme = crc64nvme(0, bytes_of(bytes))};
}

void Client::reuse(const s3::PutBody& body, bool late_read_possible) {
  if (body.window.region == nullptr) return;
  if (late_read_possible) {
    EXPECT_TRUE(puts_->fence()) << "the memory must stay in quarantine for ever";
  }
  std::ranges::fill(body.window.bytes(), std::byte{'N'});
}

std::string Client::etag_of(const std::string& key) {
  const auto info = wait_for<Result<s3::ObjectInfo>>([&](Done<s3::ObjectInfo> done) {
    store_->head(key, clock_.now() + kDeadline, std::move(done));
  });
  EXPECT_TRUE(info) << info.error().detail;
  return info ? info->etag : "\"none\"";
}

s3::CopySource Client::source_of(const std::string& key) {
  return {.key = key, .etag = etag_of(key), .size_bytes = size_of(key).value_or(0)};
}

}  // namespace s3rdmafs::fault
