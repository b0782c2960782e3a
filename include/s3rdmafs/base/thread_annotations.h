// SPDX-License-Identifier: Apache-2.0
// Clang's thread-safety analysis (-Wthread-safety), by the names its manual uses. Nothing
// elsewhere.
#pragma once

#if defined(__clang__)
#define S3RDMAFS_TSA(x) __attribute__((x))
#else
#define S3RDMAFS_TSA(x)
#endif

#define CAPABILITY(x) S3RDMAFS_TSA(capability(x))
#define SCOPED_CAPABILITY S3RDMAFS_TSA(scoped_lockable)
#define GUARDED_BY(x) S3RDMAFS_TSA(guarded_by(x))
#define PT_GUARDED_BY(x) S3RDMAFS_TSA(pt_guarded_by(x))
#define REQUIRES(...) S3RDMAFS_TSA(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) S3RDMAFS_TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...) S3RDMAFS_TSA(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) S3RDMAFS_TSA(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) S3RDMAFS_TSA(locks_excluded(__VA_ARGS__))
#define RETURN_CAPABILITY(x) S3RDMAFS_TSA(lock_returned(x))
#define NO_THREAD_SAFETY_ANALYSIS S3RDMAFS_TSA(no_thread_safety_analysis)
