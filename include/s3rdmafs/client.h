/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libs3rdmafs: read files of an s3rdmafs mount past FUSE, out of the memory that the server has
 * written. See libs3rdmafs(3).
 *
 * The program opens a file through the mount as always, and attaches to it. Bytes that are in the
 * mount's memory are then read without the kernel's help; where that cannot be had, the same call
 * reads through the mount, and says so. Both give the same bytes.
 *
 * Errors are negative values of errno(3). Every function may be called by any thread, also at the
 * same time for one file, but for s3rdmafs_close(): its file is used no more. After fork(2) a child
 * may go on with the files of its parent.
 */
#ifndef S3RDMAFS_CLIENT_H
#define S3RDMAFS_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define S3RDMAFS_CLIENT_VERSION 1

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers): C */

/* An attached file. Owned by the caller until s3rdmafs_close(). */
typedef struct s3rdmafs_file s3rdmafs_file;

/* From where a call was served. */
typedef enum s3rdmafs_source {
  S3RDMAFS_FROM_MEMORY = 1, /* all of it past FUSE */
  S3RDMAFS_FROM_MOUNT = 2,  /* some or all of it through the mount */
} s3rdmafs_source;

typedef struct s3rdmafs_range {
  void* buffer;
  size_t length;          /* bytes */
  off_t offset;           /* in the file */
  ssize_t result;         /* set by the call: as of s3rdmafs_pread() */
  s3rdmafs_source source; /* set by the call */
} s3rdmafs_range;

/* Bytes of a file that do not change until s3rdmafs_unmap(), whatever becomes of the mount. */
typedef struct s3rdmafs_mapping {
  const void* bytes;
  size_t length; /* bytes; shorter than asked for at the end of the file */
  s3rdmafs_source source;
  void* owner; /* of the library */
} s3rdmafs_mapping;

/*
 * Opens the file at `path` for reading and attaches to it. Errors: those of open(2). A file that
 * cannot be attached, on any file system, is read through its descriptor; s3rdmafs_reason() tells
 * why.
 */
int s3rdmafs_open(const char* path, s3rdmafs_file** file);

/*
 * Attaches to a file that is open for reading. The descriptor stays the caller's; the library keeps
 * a duplicate. Errors: EBADF; EMFILE. Otherwise as s3rdmafs_open().
 */
int s3rdmafs_attach(int fd, s3rdmafs_file** file);

/* Ends its use. Mappings of it stay valid. */
void s3rdmafs_close(s3rdmafs_file* file);

/* The size of the file in bytes, as it was attached. */
uint64_t s3rdmafs_size(const s3rdmafs_file* file);

/* The descriptor of the file, for everything else. The library's: not to be closed. */
int s3rdmafs_fd(const s3rdmafs_file* file);

/* Why reads go through the mount; NULL if they go past FUSE. A text that lives as long as the
 * program. */
const char* s3rdmafs_reason(const s3rdmafs_file* file);

/*
 * Reads up to `length` bytes at `offset`, as pread(2): fewer only at the end of the file. Errors:
 * those of pread(2) through the mount. `source` may be NULL.
 */
ssize_t s3rdmafs_pread(s3rdmafs_file* file, void* buffer, size_t length, off_t offset,
                       s3rdmafs_source* source);

/* Reads many ranges, all of which are asked for before the first is waited for. Returns 0, or the
 * first error of a range. */
int s3rdmafs_pread_many(s3rdmafs_file* file, s3rdmafs_range* ranges, size_t count);

/*
 * Waits until the bytes are in memory, and maps them: the very pages that the server wrote, or a
 * mapping of the file where they cannot be had. Errors: EINVAL: `offset` is not in the file, or
 * `length` is 0; those of mmap(2).
 */
int s3rdmafs_map(s3rdmafs_file* file, off_t offset, size_t length, s3rdmafs_mapping* mapping);
void s3rdmafs_unmap(s3rdmafs_mapping* mapping);

/* The bytes are probably wanted soon. Does not wait. */
void s3rdmafs_prefetch(s3rdmafs_file* file, off_t offset, size_t length);

/* NOLINTEND(readability-identifier-naming,modernize-use-using,modernize-deprecated-headers) */

#ifdef __cplusplus
}
#endif

#endif
