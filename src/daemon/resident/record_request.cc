// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/record_request.h"

#include <charconv>

#include "daemon/resident/read_trace.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

void answer_begin(vfs::OpenTrace& trace, ControlRequest& request) {
  const auto recording = trace.begin();
  if (!recording) {
    request.say("error " + recording.error().detail);
    return;
  }
  log::info("record: recording {} of what programs open has begun", *recording);
  request.say(fmt::format("recording {}", *recording));
  request.say("end");
}

void answer_take(vfs::OpenTrace& trace, std::uint64_t recording, bool is_last,
                 ControlRequest& request) {
  const auto batch = trace.take(recording);
  if (!batch) {
    request.say("error " + batch.error().detail);
    return;
  }
  if (is_last) {
    trace.end(recording);
    log::info("record: recording {} has ended", recording);
  }
  for (const auto& opened : batch->opened) {
    if (!request.say("opened " + to_line({.at = opened.at, .version = opened.version}))) return;
  }
  request.say(fmt::format("lost {}", batch->lost));
  request.say("end");
}

}  // namespace

bool is_record_request(const ControlRequest& request) {
  return !request.words().empty() && request.words().front() == kRecordCommand;
}

void answer_record_request(vfs::OpenTrace& trace, ControlRequest& request) {
  const std::vector<std::string>& words = request.words();
  if (words.size() == 2 && words[1] == "begin") return answer_begin(trace, request);
  std::uint64_t recording = 0;
  const bool is_last = words.size() == 3 && words[1] == "end";
  if (!is_last && (words.size() != 3 || words[1] != "take")) {
    request.say("error the daemon is of another version and does not know this request");
    return;
  }
  std::from_chars(words[2].data(), words[2].data() + words[2].size(), recording);
  answer_take(trace, recording, is_last, request);
}

}  // namespace s3rdmafs::daemon
