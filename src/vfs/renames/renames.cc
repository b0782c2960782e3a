// SPDX-License-Identifier: Apache-2.0
// Renames: first what both names stand for, then the move, then everything that knows the names.
//
// Pending bytes. Those of the source that the store lacks are stored first, so that the copy has
// them. From then on the open files of both names are held (files/held_files.h): those of the
// source are stored neither between the copy and the removal nor under the old name after it, and
// those of the destination neither over the copy.
//
// Inodes. The kernel keeps the inode of the source under the new name, so the inode is bound to the
// copy. Its handles read the copy when the server no longer has the source (OpenFiles::moved).
// Where the kernel has never heard of the version that the source is now, its name stands for a
// former inode there, which would get the new name: kStale makes it look the name up first.
//
// Cost of a file: what the lookups of both names cost, and a rename at the server; where it has
// none, a copy, a removal and one fsync of the log.
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
  parts_.files->work_begins();
  auto call = std::make_shared<Call>(Call{.request = std::move(request), .done = std::move(done)});
  call->was_pending = parts_.files->is_written(call->request.from);
  parts_.files->store_pending(
      call->request.from, [self = shared_from_this(), call](Result<void> stored) {
        if (!stored) return self->end(call, std::move(stored));
        self->hold(call, {call->request.from, call->request.to}, &Renames::find_source);
      });
}

void Renames::hold(const CallPtr& call, std::vector<std::string> names, Step next) {
  parts_.files->hold(std::move(names), [self = shared_from_this(), call,
                                        next](Result<std::shared_ptr<HeldFiles>> held) {
    if (!held) return self->end(call, std::unexpected(std::move(held.error())));
    call->held = std::move(*held);
    ((*self).*next)(call);
  });
}

void Renames::end(const CallPtr& call, Result<void> outcome) {
  call->done(std::move(outcome));
  if (call->held) call->held->release();
  parts_.files->work_ends();
}

void Renames::find_source(const CallPtr& call) {
  parts_.names->resolve(
      call->request.from, parts_.request_deadline(),
      [self = shared_from_this(), call](Result<NameAnswer> answer) {
        if (!answer) return self->end(call, std::unexpected(std::move(answer.error())));
        if (!answer->node) {
          return self->end(call, fail(ErrorCode::kNotFound, "no key '" + call->request.from + "'"));
        }
        call->source = std::move(*answer->node);
        if (!call->was_pending && !self->is_known_to_kernel(call->source)) {
          const std::string& from = call->request.from;
          return self->end(call, self->parts_.names->look_again(
                                     from, "another client has replaced '" + from + "'"));
        }
        self->find_destination(call);
      });
}

bool Renames::is_known_to_kernel(const Node& source) const {
  return source.is_directory || source.written || parts_.names->kernel_has(source);
}

void Renames::find_destination(const CallPtr& call) {
  if (call->request.to == call->request.from) return end(call, {});
  parts_.names->resolve_new(call->request.to, /*asks=*/false, parts_.request_deadline(),
                            [self = shared_from_this(), call](Result<NameAnswer> answer) {
                              if (!answer)
                                return self->end(call, std::unexpected(std::move(answer.error())));
                              call->destination = std::move(answer->node);
                              call->is_destination_written =
                                  self->parts_.files->is_written(call->request.to);
                              if (auto fits = self->check_destination(*call); !fits) {
                                return self->end(call, std::move(fits));
                              }
                              if (call->source.is_directory) return self->move_directory(call);
                              self->move_file(call);
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

void Renames::move_file(const CallPtr& call) {
  const bool must_be_new = call->request.must_be_new;
  ObjectMove move{.from = call->source.object, .to = call->request.to};
  if (must_be_new) move.options.when = s3::Precondition::absent();
  if (call->destination) move.replaced_etag = call->destination->object.etag;
  move.on_moving = [self = shared_from_this(), call] {
    self->announce(call->source.object, call->request.to);
  };
  move.on_moved = [self = shared_from_this(), call](const std::string& etag) {
    self->tell_readers(call->source.object, call->request.to, etag);
  };
  auto go = [self = shared_from_this(), call, move = std::move(move)](const Result<void>&) mutable {
    self->mover_.move(std::move(move), [self, call](Result<std::string> etag) {
      self->on_file_moved(call, std::move(etag));
    });
  };
  if (!call->destination) return go({});
  call->held->keep_bytes(call->request.to, parts_.request_deadline(), std::move(go));
}

void Renames::on_file_moved(const CallPtr& call, Result<std::string> etag) {
  forget_move(call->source.object);
  if (!etag) {  // maybe of the answer only
    parts_.names->on_changed(call->request.from);
    parts_.names->on_changed(call->request.to);
    return end(call, std::unexpected(std::move(etag.error())));
  }
  tell_of_file(*call, *etag);
  call->held->replaced(call->request.to, [self = shared_from_this(), call](Result<void> gone) {
    self->end(call, std::move(gone));
  });
}

s3::ObjectInfo Renames::moved_version(const s3::ObjectInfo& from, std::string to,
                                      const std::string& etag) {
  s3::ObjectInfo moved = from;
  moved.key = std::move(to);
  moved.etag = etag;
  return moved;
}

// While both keys have the bytes, or the new one alone: a reader that finds the source gone must
// find them.
void Renames::tell_readers(const s3::ObjectInfo& from, std::string to, const std::string& etag) {
  parts_.names->on_stored(to, etag);
  const s3::ObjectInfo copy = moved_version(from, std::move(to), etag);
  parts_.open_files.moved(from, parts_.names->generation_of(from), copy,
                          parts_.names->generation_of(copy));
}

void Renames::announce(const s3::ObjectInfo& from, std::string to) {
  const s3::ObjectInfo moved = moved_version(from, std::move(to), from.etag);
  parts_.open_files.moving(from, parts_.names->generation_of(from), moved,
                           parts_.names->generation_of(moved));
}

void Renames::forget_move(const s3::ObjectInfo& from) {
  parts_.open_files.move_ended(from, parts_.names->generation_of(from));
}

void Renames::tell_of_file(const Call& call, const std::string& etag) {
  Node copy = Node::file(call.source.object);
  copy.object.key = call.request.to;
  copy.object.etag = etag;
  call.held->moved(call.source.object, copy.object);
  parts_.names->on_moved(call.source, copy);
}

}  // namespace s3rdmafs::vfs
