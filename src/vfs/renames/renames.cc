// SPDX-License-Identifier: Apache-2.0
// Renames: first what both names stand for, then the move, then everything that knows the names.
//
// Pending bytes. Those of the source that the store lacks are stored first, so that the copy has
// them. A descriptor that still writes the source cannot follow it to its new name: its next write
// fails with kStale. A file that is written under the destination's name is replaced, as if it had
// been removed; until the copy has succeeded it only waits (its turn to commit is taken), so that a
// rename that fails costs it nothing, and one that succeeds is not overwritten by it.
//
// Inodes. The kernel keeps the inode of the source under the new name, so the inode is bound to the
// copy. Its handles read the copy when the server no longer has the source (OpenFiles::moved).
//
// Cost of a file: what the lookups of both names cost, a copy, a removal and one fsync of the log.
#include "vfs/renames/renames.h"

#include <utility>

#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

Renames::Renames(Parts parts)
    : parts_(std::move(parts)),
      log_(parts_.log != nullptr ? *parts_.log : no_log_),
      mover_(parts_.writer, log_, parts_.request_deadline) {}

void Renames::rename(RenameRequest request, Done<void> done) {
  if (request.to.starts_with(directory_prefix(request.from))) {
    return done(fail(ErrorCode::kInvalidArgument, "a directory cannot move into itself"));
  }
  parts_.written->work_begins();
  auto ended = [self = shared_from_this(), done = std::move(done)](Result<void> outcome) mutable {
    done(std::move(outcome));
    self->parts_.written->work_ends();
  };
  store_pending_source(
      std::make_shared<Call>(Call{.request = std::move(request), .done = std::move(ended)}));
}

void Renames::store_pending_source(const CallPtr& call) {
  const std::string& from = call->request.from;
  const std::shared_ptr<WrittenFile> file = parts_.written->find(from);
  if (!file) return find_source(call);
  if (!file->is_claimed()) {
    return call->done(fail(ErrorCode::kBusy, "'" + from + "' is being opened to be written"));
  }
  parts_.committer->commit(file, [self = shared_from_this(), call](Result<void> stored) {
    if (!stored) return call->done(std::move(stored));
    self->find_source(call);
  });
}

void Renames::find_source(const CallPtr& call) {
  parts_.names->resolve(
      call->request.from, parts_.request_deadline(),
      [self = shared_from_this(), call](Result<NameAnswer> answer) {
        if (!answer) return call->done(std::unexpected(std::move(answer.error())));
        if (!answer->node) {
          return call->done(fail(ErrorCode::kNotFound, "no key '" + call->request.from + "'"));
        }
        call->source = std::move(*answer->node);
        self->find_destination(call);
      });
}

void Renames::find_destination(const CallPtr& call) {
  if (call->request.to == call->request.from) return call->done({});
  parts_.names->resolve(call->request.to, parts_.request_deadline(),
                        [self = shared_from_this(), call](Result<NameAnswer> answer) {
                          if (!answer)
                            return call->done(std::unexpected(std::move(answer.error())));
                          call->destination = std::move(answer->node);
                          call->is_destination_written =
                              self->parts_.written->find(call->request.to) != nullptr;
                          if (auto fits = self->check_destination(*call); !fits)
                            return call->done(std::move(fits));
                          if (call->source.is_directory) return self->move_directory(call);
                          self->take_turns(call);
                        });
}

Result<void> Renames::check_destination(const Call& call) const {
  const std::string named = "'" + call.request.to + "'";
  const bool is_directory = call.destination && call.destination->is_directory;
  const bool is_file = !is_directory && (call.destination || call.is_destination_written);
  if (call.request.must_be_new && (is_directory || is_file)) {
    return fail(ErrorCode::kExists, named + " exists already");
  }
  if (is_directory && !call.source.is_directory) {
    return fail(ErrorCode::kIsDirectory, named + " is a directory");
  }
  if (is_file && call.source.is_directory) {
    return fail(ErrorCode::kNotDirectory, named + " is a file");
  }
  return {};
}

void Renames::take_turns(const CallPtr& call) {
  if (call->turns == 0) call->waiting = parts_.written->all_of(call->request.to);
  if (call->turns == call->waiting.size()) return move_file(call);
  call->waiting[call->turns]->take_turn([self = shared_from_this(), call] {
    ++call->turns;
    self->take_turns(call);
  });
}

void Renames::move_file(const CallPtr& call) {
  const bool must_be_new = call->request.must_be_new;
  ObjectMove move{.from = call->source.object, .to = call->request.to};
  if (must_be_new) move.options.when = s3::Precondition::absent();
  if (call->destination) move.replaced_etag = call->destination->object.etag;
  move.on_copied = [self = shared_from_this(), call](const std::string& etag) {
    self->tell_readers(call->source.object, call->request.to, etag);
  };
  mover_.move(std::move(move), [self = shared_from_this(), call](Result<std::string> etag) {
    self->on_file_moved(call, std::move(etag));
  });
}

void Renames::on_file_moved(const CallPtr& call, Result<std::string> etag) {
  if (!etag) {  // maybe of the answer only
    parts_.names->on_changed(call->request.from);
    parts_.names->on_changed(call->request.to);
    return end_file(call, std::unexpected(std::move(etag.error())));
  }
  tell_of_file(*call, *etag);
  parts_.committer->discard(call->waiting, [self = shared_from_this(), call](Result<void> gone) {
    self->end_file(call, std::move(gone));
  });
}

// While both keys have the bytes: a reader that finds the source gone must find the copy.
void Renames::tell_readers(const s3::ObjectInfo& from, std::string to, const std::string& etag) {
  parts_.names->on_stored(to, etag);
  s3::ObjectInfo copy = from;
  copy.key = std::move(to);
  copy.etag = etag;
  parts_.open_files.moved(from, parts_.names->generation_of(from), copy,
                          parts_.names->generation_of(copy));
}

void Renames::tell_of_file(const Call& call, const std::string& etag) {
  Node copy = Node::file(call.source.object);
  copy.object.key = call.request.to;
  copy.object.etag = etag;
  const std::string& from = call.request.from;
  for (const std::shared_ptr<WrittenFile>& file : parts_.written->all_of(from)) {
    file->give_up({ErrorCode::kStale, "'" + from + "' was renamed while it was written"});
    file->supersede();
    parts_.names->on_moved(file->node(), copy);
  }
  parts_.names->on_moved(call.source, copy);
}

void Renames::end_file(const CallPtr& call, Result<void> outcome) {
  call->done(std::move(outcome));
  for (const std::shared_ptr<WrittenFile>& file : call->waiting) file->end_turn();
}

}  // namespace s3rdmafs::vfs
