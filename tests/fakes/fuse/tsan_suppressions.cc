// SPDX-License-Identifier: Apache-2.0
// The races that ThreadSanitizer does not report in tests that run libfuse; ThreadSanitizer asks
// this function.
//
// fuse_chan_get of libfuse 3.18 asserts a counter before it takes the counter's lock, while
// another thread may lower it. The worker that asks holds a reference of its own, so the counter
// stays above zero, and the race is benign.

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name is given
extern "C" const char* __tsan_default_suppressions() { return "race:^fuse_chan_get$\n"; }
