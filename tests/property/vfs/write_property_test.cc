// SPDX-License-Identifier: Apache-2.0
// Random writes, syncs, closes and removals, while other clients put and remove objects, against a
// model of two maps: the objects that the bucket must have, and the files being written. After each
// step the bucket and every name must be as the model says.
#include <rapidcheck.h>

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../../unit/vfs/writable_bucket.h"
#include "../kinds.h"

namespace s3rdmafs::vfs {
namespace {

struct WriteCommand {
  enum class Kind {
    kOpen,
    kAppend,
    kWrite,
    kWriteElsewhere,
    kSync,
    kClose,
    kUnlink,
    kMkdir,
    kRmdir,
    kFail,
    kOtherPuts,
    kOtherRemoves
  };
  Kind kind = Kind::kOpen;
  unsigned name = 0;   ///< one of three files; of kMkdir and kRmdir: the directory of the third
  unsigned bytes = 0;  ///< up to three parts
};

std::ostream& operator<<(std::ostream& out, const WriteCommand& command) {
  constexpr const char* kNames[] = {"open",  "open to append", "write",        "write elsewhere",
                                    "sync",  "close",          "unlink",       "mkdir",
                                    "rmdir", "fail",           "another puts", "another removes"};
  return out << kNames[static_cast<int>(command.kind)] << " " << command.name << " "
             << command.bytes;
}

/// Mistakes made on purpose, for the control.
enum class Planted { kNone, kModelForgetsAWrite, kModelShowsBeforeSync };

class WriteModel {
 public:
  explicit WriteModel(Planted planted) : planted_(planted) {}

  std::string run(const std::vector<WriteCommand>& commands) {
    for (const WriteCommand& command : commands) {
      bucket_.clock.advance(std::chrono::milliseconds(1));
      std::string wrong = step(command);
      if (wrong.empty()) wrong = compare();
      if (!wrong.empty()) return wrong;
    }
    while (!open_.empty()) close(open_.begin()->first);
    if (std::string wrong = compare(); !wrong.empty()) return wrong;
    if (bucket_.store.open_uploads() > 0) return "an upload is left over";
    if (bucket_.metrics.gauge("upload_buffers_used_bytes", "").value() != 0) {
      return "a buffer is left over";
    }
    return "";
  }

 private:
  using Kind = WriteCommand::Kind;
  struct Open {
    std::uint64_t handle = 0;
    std::string bytes;
    bool sealed = false;    ///< complete, and larger than a part
    bool stored = false;    ///< the bucket has these bytes
    bool unlinked = false;  ///< while it was open
    bool failed = false;
    bool conditional = false;  ///< what is stored next takes the place of one version, or of none
    bool has_version = false;  ///< of one version
    bool outdated = false;     ///< which another client replaced or removed
    bool untouched = false;    ///< an empty object that the name stands for until this is synced
  };

  static std::string name_of(unsigned name) {
    return std::string(1, static_cast<char>('a' + name));
  }

  std::string step(const WriteCommand& command) {
    const std::string name = name_of(command.name);
    const auto found = open_.find(name);
    Open* const open = found == open_.end() ? nullptr : &found->second;
    switch (command.kind) {
      case Kind::kOpen: {
        if (open != nullptr) return "";
        const auto opened = bucket_.open_truncated(kRootIno, name);
        if (!opened) return "open failed: " + opened.error().detail;
        open_[name].handle = *opened;
        return "";
      }
      case Kind::kAppend: {
        if (open != nullptr) return "";
        const auto stored = stored_.find(name);
        const bool is_there = stored != stored_.end();
        const bool may = !is_there || stored->second.empty();
        const auto opened = bucket_.open_to_append(kRootIno, name);
        if (opened.has_value() != may) return "an open to append told the wrong outcome";
        if (!may) return "";
        Open& made = open_[name];
        made.handle = *opened;
        made.stored = made.untouched = made.has_version = is_there;
        made.conditional = true;
        return "";
      }
      case Kind::kWrite:
        return open == nullptr ? "" : write(*open, command.bytes);
      case Kind::kWriteElsewhere: {
        if (open == nullptr) return "";
        const auto outcome = bucket_.write(open->handle, open->bytes.size() + 1, "x");
        return outcome ? "a write behind the end succeeded" : "";
      }
      case Kind::kSync: {
        if (open == nullptr) return "";
        const auto outcome = bucket_.sync(open->handle);
        store(name, *open);
        open->untouched = false;
        // A removed file can miss nothing.
        const bool must_fail = open->failed && !open->unlinked;
        return outcome.has_value() == must_fail ? "sync told the wrong outcome" : "";
      }
      case Kind::kClose:
        if (open != nullptr) close(name);
        return "";
      case Kind::kUnlink: {
        if (open == nullptr && !stored_.contains(name)) return "";
        if (!bucket_.unlink(kRootIno, name)) return "unlink failed";
        stored_.erase(name);
        if (open != nullptr) open->unlinked = true;
        return "";
      }
      case Kind::kOtherPuts:
      case Kind::kOtherRemoves: {
        if (command.kind == Kind::kOtherPuts) {
          const std::string theirs(command.bytes % 3, 'o');
          bucket_.store.put(name, theirs);
          stored_[name] = theirs;
        } else {
          bucket_.store.remove(name);
          stored_.erase(name);
        }
        if (open != nullptr) open->outdated = true;
        bucket_.clock.advance(std::chrono::minutes(1));  // for names: what was seen is old
        return "";
      }
      case Kind::kMkdir: {
        const auto made = bucket_.mkdir(kRootIno, "d");
        if (made.has_value() == stored_.contains("d/")) return "mkdir told the wrong outcome";
        stored_["d/"] = "";
        return "";
      }
      case Kind::kRmdir:
        if (!bucket_.rmdir(kRootIno, "d")) return "rmdir failed";
        stored_.erase("d/");
        return "";
      case Kind::kFail: {
        if (open == nullptr || open->failed || open->stored || open->unlinked) return "";
        bucket_.store.fail_if([](const fakes::FakeObjectStore::Call& call) {
          using Operation = fakes::FakeObjectStore::Operation;
          const bool writes = call.operation == Operation::kPut ||
                              call.operation == Operation::kUploadPart ||
                              call.operation == Operation::kCompleteUpload ||
                              call.operation == Operation::kCreateUpload;
          return writes ? std::optional(s3::GetFailure{{ErrorCode::kServerError, "planned"}})
                        : std::nullopt;
        });
        const auto outcome = bucket_.sync(open->handle);
        bucket_.store.fail_if({});
        open->failed = true;
        return outcome ? "a sync succeeded although the server failed" : "";
      }
    }
    return "";
  }

  std::string write(Open& open, unsigned bytes) {
    const std::string text(bytes, static_cast<char>('A' + bytes % 26));
    const auto outcome = bucket_.write(open.handle, open.bytes.size(), text);
    const bool must_fail = open.failed || open.sealed;
    if (outcome.has_value() == must_fail && !text.empty()) return "write told the wrong outcome";
    if (must_fail || (planted_ == Planted::kModelForgetsAWrite && open.bytes.size() > 5000))
      return "";
    open.bytes += text;
    if (!text.empty()) open.stored = false;
    if (planted_ == Planted::kModelShowsBeforeSync) stored_["a"] = open.bytes;
    return "";
  }

  void store(const std::string& name, Open& open) {
    if (open.failed || open.unlinked || open.stored) return;
    if (open.conditional && (open.has_version ? open.outdated : stored_.contains(name))) {
      open.failed = true;
      return;
    }
    stored_[name] = open.bytes;
    open.stored = open.conditional = open.has_version = true;
    open.outdated = false;
    open.sealed = open.bytes.size() > WritableBucket::kPart;
  }

  void close(const std::string& name) {
    Open& open = open_.at(name);
    bucket_.fs.release(open.handle);
    store(name, open);
    open_.erase(name);
  }

  std::string compare() {
    for (const std::string name : {"a", "b", "c", "d/"}) {
      const auto found = stored_.find(name);
      const auto object = bucket_.store.object(name);
      if (object.has_value() != (found != stored_.end())) return "'" + name + "' is there, or not";
      if (object && *object != found->second) return "'" + name + "' has other bytes";
    }
    for (const std::string name : {"a", "b", "c"}) {
      const auto found = bucket_.lookup(kRootIno, name);
      const auto open = open_.find(name);
      const bool is_written = open != open_.end() &&
                              (!open->second.stored || open->second.untouched) &&
                              !open->second.unlinked && !open->second.failed;
      const auto stored = stored_.find(name);
      if (found.has_value() != (is_written || stored != stored_.end())) {
        return "'" + name + "' is found, or not";
      }
      if (!found) continue;
      const std::size_t size = is_written ? open->second.bytes.size() : stored->second.size();
      if (found->attributes.size_bytes != size) return "'" + name + "' shows a wrong size";
    }
    return "";
  }

  const Planted planted_;
  WritableBucket bucket_;
  std::map<std::string, std::string> stored_;
  std::map<std::string, Open> open_;
};

rc::Gen<std::vector<WriteCommand>> command_lists() {
  using Kind = WriteCommand::Kind;
  const auto kind =
      kinds_by_weight<Kind>({{9, {Kind::kWrite}},
                             {5, {Kind::kOpen}},
                             {3, {Kind::kClose}},
                             {2, {Kind::kSync, Kind::kAppend}},
                             {1,
                              {Kind::kWriteElsewhere, Kind::kUnlink, Kind::kMkdir, Kind::kRmdir,
                               Kind::kFail, Kind::kOtherPuts, Kind::kOtherRemoves}}});
  return rc::gen::container<std::vector<WriteCommand>>(rc::gen::build<WriteCommand>(
      rc::gen::set(&WriteCommand::kind, kind),
      rc::gen::set(&WriteCommand::name, rc::gen::inRange(0U, 3U)),
      rc::gen::set(&WriteCommand::bytes, rc::gen::element(0U, 1U, 100U, 4095U, 4096U, 9000U))));
}

RC_GTEST_PROP(WriteProperty, TheBucketHasWhatWasFinishedAndNothingElse, ()) {
  const auto commands = *command_lists();
  RC_ASSERT(WriteModel(Planted::kNone).run(commands) == "");
}

// The control: a model that is wrong in one point is found.
TEST(WriteProperty, FindsAPlantedDifference) {
  for (const Planted planted : {Planted::kModelForgetsAWrite, Planted::kModelShowsBeforeSync}) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto commands = command_lists()(rc::Random(seed), 100).value();
      if (!WriteModel(planted).run(commands).empty()) ++found;
    }
    EXPECT_GT(found, 0) << static_cast<int>(planted);
  }
}

}  // namespace
}  // namespace s3rdmafs::vfs
