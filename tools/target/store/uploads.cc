// SPDX-License-Identifier: Apache-2.0
// On disk: uploads/ID/plan beside uploads/ID/00001.ETAG[.CHECKSUM] for each part. An upload exists
// once its plan does. To complete one, its folder is renamed to "ID.claimed": no part can arrive
// any more, and of two requests that complete it one finds nothing.
//
// Most parts are in uploads/ID/shared, each where it will be in the object (PartPlaces). Such a
// part's own file is empty and ends in "@OFFSET+SIZE". If all of them are there, and no request
// writes any more, that file becomes the object. Otherwise the parts are copied together.
#include "target/store/uploads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <tuple>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"
#include "target/store/key_path.h"
#include "target/store/tree.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kPlanFile = "plan";
constexpr const char* kSharedFile = "shared";
constexpr mode_t kSharedMode = 0666;  // it may become an object
constexpr std::size_t kIdDigits = 32;
constexpr std::size_t kNumberDigits = 5;  // "10000" is S3's last part

std::string encode_plan(const UploadPlan& plan) {
  const Metadata metadata{.etag = {}, .headers = plan.headers, .checksums = {}, .part_sizes = {}};
  std::string checksum = "-";
  if (plan.checksum) {
    checksum = checksum_algorithm(plan.checksum->kind) +
               (plan.checksum->is_composite ? " COMPOSITE" : " FULL_OBJECT");
  }
  return fmt::format("{}\n{}\n{}\n{}", s3::uri_encode(plan.bucket, true),
                     s3::uri_encode(plan.key, true), checksum, encode_metadata(metadata, {}));
}

std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<UploadPlan> decode_plan(std::string_view text) {
  auto bucket = s3::uri_decode(take_line(text));
  auto key = s3::uri_decode(take_line(text));
  const std::string checksum = take_line(text);
  auto metadata = decode_metadata(text, {});
  if (!bucket || !key || !metadata) return std::nullopt;
  UploadPlan plan{.bucket = std::move(*bucket),
                  .key = std::move(*key),
                  .headers = std::move(metadata->headers),
                  .checksum = {}};
  const std::size_t blank = std::min(checksum.find(' '), checksum.size());
  if (const auto kind = checksum_of_algorithm(checksum.substr(0, blank))) {
    plan.checksum = {.kind = *kind, .is_composite = checksum.ends_with("COMPOSITE")};
  }
  return plan;
}

/// The whole of a small file; nothing if it cannot be read.
std::optional<std::string> read_small_file(int folder, const char* name) {
  const UniqueFd fd = open_beneath(folder, name, O_RDONLY);
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got != status.st_size) return std::nullopt;
  return text;
}

template <class T>
bool parse_digits(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// "OFFSET+SIZE", the end of the name of a part that is in the shared file.
bool parse_place(std::string_view text, StoredPart& part) {
  const std::size_t plus = std::min(text.find('+'), text.size());
  return plus < text.size() && parse_digits(text.substr(0, plus), part.place_bytes.emplace()) &&
         parse_digits(text.substr(plus + 1), part.size_bytes);
}

std::optional<StoredPart> parse_part_name(std::string_view name) {
  StoredPart part;
  if (name.size() < kNumberDigits + 2 || name[kNumberDigits] != '.') return std::nullopt;
  if (!parse_digits(name.substr(0, kNumberDigits), part.number)) return std::nullopt;
  name.remove_prefix(kNumberDigits + 1);
  const std::size_t at = std::min(name.find('@'), name.size());
  if (at < name.size() && !parse_place(name.substr(at + 1), part)) return std::nullopt;
  name = name.substr(0, at);
  const std::size_t dot = std::min(name.find('.'), name.size());
  part.etag = name.substr(0, dot);
  if (dot < name.size()) part.checksum_hex = name.substr(dot + 1);
  return part;
}

bool is_upload_id(std::string_view id) {
  return id.size() == kIdDigits && from_hex(id).has_value();
}

bool is_newer(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

// By names alone: with a stat of each part there is, the ten-thousandth would cost ten thousand.
std::vector<std::string> files_of_part(int folder, unsigned number) {
  std::vector<std::string> files;
  (void)for_each_entry(folder, [&](const char* name, unsigned char) {
    const auto part = parse_part_name(name);
    if (part && part->number == number) files.emplace_back(name);
    return true;
  });
  return files;
}

/// Makes the empty file that says where a part is. 0 or errno.
int note_part(int folder, const std::string& name) {
  const UniqueFd note(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kSharedMode));
  return note ? 0 : errno;
}

}  // namespace

std::string StoredPart::file_name() const {
  return fmt::format("{:05}.{}{}{}{}", number, etag, checksum_hex.empty() ? "" : ".", checksum_hex,
                     place_bytes ? fmt::format("@{}+{}", *place_bytes, size_bytes) : "");
}

S3Result<std::string> MultipartUpload::create(const Store& store, const UploadPlan& plan) {
  std::array<char, kIdDigits / 2> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return refuse_errno("getrandom", errno);
  }
  std::string id = to_hex({random.data(), random.size()});
  if (::mkdirat(store.uploads_folder(), id.c_str(), kPrivateMode) != 0) {
    return refuse_errno("begin an upload", errno);
  }
  const UniqueFd folder = open_beneath(store.uploads_folder(), id, kOpenFolder);
  if (!folder) return refuse_errno("begin an upload", errno);
  auto file = store.stage_file();
  if (!file) return std::unexpected(std::move(file.error()));
  const std::string text = encode_plan(plan);
  if (auto written = file->append(text.data(), text.size()); !written) {
    return std::unexpected(std::move(written.error()));
  }
  if (const int error = file->publish(folder.get(), kPlanFile, true); error != 0) {
    return refuse_errno("begin an upload", error);
  }
  store.part_places().begin(id);
  return id;
}

std::optional<MultipartUpload> MultipartUpload::load(const Store& store, const std::string& id) {
  if (!is_upload_id(id)) return std::nullopt;
  UniqueFd folder = open_beneath(store.uploads_folder(), id, kOpenFolder);
  struct stat status{};
  if (!folder || ::fstatat(folder.get(), kPlanFile, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  const auto text = read_small_file(folder.get(), kPlanFile);
  auto plan = text ? decode_plan(*text) : std::nullopt;
  if (!plan) return std::nullopt;
  return MultipartUpload(store, id, std::move(folder), std::move(*plan), status.st_mtim);
}

S3Result<MultipartUpload> MultipartUpload::open(const Store& store, const std::string& id,
                                                const std::string& bucket, const std::string& key) {
  auto upload = load(store, id);
  if (!upload || upload->plan_.bucket != bucket || upload->plan_.key != key) {
    return refuse(kNoSuchUpload);
  }
  return std::move(*upload);
}

std::vector<MultipartUpload> MultipartUpload::list(const Store& store, const std::string& bucket) {
  std::vector<MultipartUpload> uploads;
  (void)for_each_entry(store.uploads_folder(), [&](const char* name, unsigned char) {
    auto upload = load(store, name);
    if (upload && upload->plan_.bucket == bucket) uploads.push_back(std::move(*upload));
    return true;
  });
  std::ranges::sort(uploads, [](const MultipartUpload& a, const MultipartUpload& b) {
    if (a.plan_.key != b.plan_.key) return a.plan_.key < b.plan_.key;
    return std::tie(a.started_.tv_sec, a.started_.tv_nsec, a.id_) <
           std::tie(b.started_.tv_sec, b.started_.tv_nsec, b.id_);
  });
  return uploads;
}

S3Result<StagedFile> MultipartUpload::stage_part(const Store& store, unsigned number,
                                                 std::optional<std::uint64_t> length_bytes) const {
  auto place = length_bytes ? places_->take(id_, number, *length_bytes) : std::nullopt;
  if (!place) return store.stage_file();
  UniqueFd shared(
      ::openat(folder_.get(), kSharedFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kSharedMode));
  if (!shared) return store.stage_file();  // the upload ended just now
  return StagedFile::in_place(std::move(shared), std::move(*place));
}

S3Result<void> MultipartUpload::put_part(StoredPart part, StagedFile& file) const {
  if (file.place()) part.place_bytes = file.offset_bytes();
  const std::vector<std::string> before = files_of_part(folder_.get(), part.number);
  const std::string name = part.file_name();
  // By path, not by the open folder: a claimed upload must not grow.
  const UniqueFd folder = open_beneath(uploads_, id_, O_PATH | O_DIRECTORY);
  if (!folder) return refuse(kNoSuchUpload);
  if (const int error =
          file.place() ? note_part(folder.get(), name) : file.publish(folder.get(), name, false);
      error != 0) {
    return error == ENOENT ? S3Result<void>(refuse(kNoSuchUpload)) : refuse_errno("publish", error);
  }
  for (const std::string& old : before) {
    if (old != name) ::unlinkat(folder.get(), old.c_str(), 0);
  }
  if (file.place()) file.place()->settle();
  return {};
}

S3Result<std::vector<StoredPart>> MultipartUpload::parts() const {
  std::vector<StoredPart> found;
  const int error = for_each_entry(folder_.get(), [&](const char* name, unsigned char) {
    auto part = parse_part_name(name);
    struct stat status{};
    if (!part || ::fstatat(folder_.get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (!part->place_bytes) part->size_bytes = static_cast<std::uint64_t>(status.st_size);
    part->modified = status.st_mtim;
    found.push_back(std::move(*part));
    return true;
  });
  if (error != 0) return refuse_errno("list the parts", error);
  // Two uploads of one part at a time may both be there: the later one counts.
  std::ranges::sort(found, [](const StoredPart& a, const StoredPart& b) {
    return a.number != b.number ? a.number < b.number : is_newer(a.modified, b.modified);
  });
  const auto duplicates = std::ranges::unique(found, {}, &StoredPart::number);
  found.erase(duplicates.begin(), duplicates.end());
  return found;
}

S3Result<PartBytes> MultipartUpload::open_part(const StoredPart& part) const {
  const std::string name = part.place_bytes ? kSharedFile : part.file_name();
  UniqueFd fd = open_beneath(folder_.get(), name, O_RDONLY);
  if (!fd) return refuse(kInvalidPart);
  return PartBytes{.fd = std::move(fd), .offset_bytes = part.place_bytes.value_or(0)};
}

std::optional<StagedFile> MultipartUpload::shared_file(const std::vector<StoredPart>& parts) const {
  if (!places_->close(id_)) return std::nullopt;
  std::uint64_t end_bytes = 0;
  for (const StoredPart& part : parts) {
    if (part.place_bytes != end_bytes) return std::nullopt;
    end_bytes += part.size_bytes;
  }
  UniqueFd fd = open_beneath(folder_.get(), kSharedFile, O_RDWR);
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  if (static_cast<std::uint64_t>(status.st_size) != end_bytes) return std::nullopt;
  if (::futimens(fd.get(), nullptr) != 0) return std::nullopt;  // an object is of now
  return StagedFile::adopt(folder_.get(), std::move(fd), kSharedFile);
}

S3Result<void> MultipartUpload::claim() {
  const std::string claimed = id_ + ".claimed";
  if (::renameat(uploads_, id_.c_str(), uploads_, claimed.c_str()) != 0) {
    return refuse(kNoSuchUpload);
  }
  folder_name_ = claimed;
  return {};
}

void MultipartUpload::release() {
  if (::renameat(uploads_, folder_name_.c_str(), uploads_, id_.c_str()) == 0) folder_name_ = id_;
}

void MultipartUpload::remove() {
  // The plan first: without it the upload does not exist, whatever is left after a crash.
  ::unlinkat(folder_.get(), kPlanFile, 0);
  (void)for_each_entry(folder_.get(), [this](const char* name, unsigned char) {
    ::unlinkat(folder_.get(), name, 0);
    return true;
  });
  ::unlinkat(uploads_, folder_name_.c_str(), AT_REMOVEDIR);
  places_->end(id_);
}

}  // namespace s3rdmafs::target
