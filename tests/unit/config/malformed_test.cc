// SPDX-License-Identifier: Apache-2.0
// Mount files with one mistake each: the error names file, line and key, and says what was
// expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount_file.h"

namespace s3rdmafs::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Mistake {
  std::string_view lines;     ///< below those of kRequiredKeys, from line 6 on
  std::string_view position;  ///< line, and column where one value is wrong
  std::string_view key;       ///< empty: TOML itself is wrong there
  std::string_view expected;  ///< what the error says of what was expected
};

constexpr Mistake kMistakes[] = {
    {"[cache]\nsize = \"1GB\"\n", "7:8", "cache.size",
     "write it like \"64KiB\", \"8MiB\", \"1GiB\" or as a plain number"},
    {"[cache]\nsize = 17\n", "7:8", "cache.size",
     "expected a size from 64MiB to 16TiB in steps of 8MiB"},
    {"[cache]\nsize = \"1KiB\"\n", "7:8", "cache.size",
     "expected a size from 64MiB to 16TiB in steps of 8MiB"},
    {"[cache]\nsize = \"\"\n", "7:8", "cache.size",
     "write it like \"64KiB\", \"8MiB\", \"1GiB\" or as a plain number"},
    {"[cache]\nsize = \"-1GiB\"\n", "7:8", "cache.size",
     "write it like \"64KiB\", \"8MiB\", \"1GiB\" or as a plain number"},
    {"[cache]\nlock = \"yes\"\n", "7:8", "cache.lock",
     "expected one of \"off\", \"try\", \"require\""},
    {"[cache]\nsise = \"1GiB\"\n", "7:1", "cache.sise", "did you mean size?"},
    {"[cahce]\nsize = \"1GiB\"\n", "6:2", "[cahce]", "did you mean cache?"},
    {"[rdma]\nmode = \"on\"\n", "7:8", "rdma.mode",
     "expected one of \"prefer\", \"require\", \"off\""},
    {"[rdma]\nfabric = \"infiniband\"\n", "7:10", "rdma.fabric",
     "expected one of \"auto\", \"shm\", \"rc\", \"dc\""},
    {"[rdma]\nthreshold = \"big\"\n", "7:13", "rdma.threshold",
     "write it like \"64KiB\", \"8MiB\", \"1GiB\" or as a plain number"},
    {"[rdma]\nverify = true\n", "7:10", "rdma.verify",
     "found a value of type boolean, expected one of \"off\","},
    {"[rdma]\ntransfer_timeout = \"5\"\n", "7:20", "rdma.transfer_timeout",
     "write it like \"200ms\", \"30s\", \"5m\" or \"1h\""},
    {"[rdma]\ntransfer_timeout = \"0s\"\n", "7:20", "rdma.transfer_timeout",
     "expected a duration from 100ms to 1h"},
    {"[rdma]\ngid_index = 300\n", "7:13", "rdma.gid_index",
     "found a value of type integer, expected text in quotes"},
    {"[rdma]\ntraffic_class = 256\n", "7:17", "rdma.traffic_class",
     "expected a whole number from 0 to 255"},
    {"[rdma]\nservice_level = 16\n", "7:17", "rdma.service_level",
     "expected a whole number from 0 to 15"},
    {"[rdma]\ntoken_header = \"a b\"\n", "7:16", "rdma.token_header",
     "expected letters, digits and '-', such as"},
    {"[rdma]\ndc_key = \"xyz\"\n", "7:10", "rdma.dc_key",
     "expected 1 to 16 hexadecimal digits in quotes, such as"},
    {"[write]\nmode = \"random\"\n", "7:8", "write.mode",
     "expected one of \"off\", \"sequential\", \"staged\""},
    {"[write]\npart_size = \"1MiB\"\n", "7:13", "write.part_size",
     "expected a size from 8MiB to 1GiB in steps of 2MiB"},
    {"[write]\npart_size = \"6GiB\"\n", "7:13", "write.part_size",
     "expected a size from 8MiB to 1GiB in steps of 2MiB"},
    {"[write]\nparallel_parts = 0\n", "7:18", "write.parallel_parts",
     "expected a whole number from 1 to 64"},
    {"[write]\nparallel_parts = 2.5\n", "7:18", "write.parallel_parts",
     "found a value of type float, expected a whole number from 1"},
    {"[write]\nstorage_class = \"A B\"\n", "7:17", "write.storage_class",
     "expected capital letters, such as \"STANDARD_IA\""},
    {"[read]\nmode = \"fast\"\n", "7:8", "read.mode",
     "expected one of \"auto\", \"direct\", \"buffered\""},
    {"[read]\nbuffered = [\"*.a\"]\n", "7:12", "read.buffered",
     "found a value of type array, expected text in quotes"},
    {"[read_ahead]\nwindow_max = \"x\"\n", "7:14", "read_ahead.window_max",
     "write it like \"64KiB\", \"8MiB\", \"1GiB\" or as a plain number"},
    {"[http]\nevent_threads = 65\n", "7:17", "http.event_threads",
     "expected a whole number from 1 to 64"},
    {"[http]\nconnections_max = \"64\"\n", "7:19", "http.connections_max",
     "found a value of type string, expected a whole number from"},
    {"[retry]\nattempts_max = 0\n", "7:16", "retry.attempts_max",
     "expected a whole number from 1 to 100"},
    {"[retry]\nbackoff_first = \"1m\"\nbackoff_max = \"1s\"\n", "7", "retry.backoff_first",
     "is longer than retry.backoff_max"},
    {"[retry]\ndeadline = 30\n", "7:12", "retry.deadline",
     "found a value of type integer, expected a duration from"},
    {"[metadata]\nttl = \"soon\"\n", "7:7", "metadata.ttl",
     "write it like \"200ms\", \"30s\", \"5m\" or \"1h\""},
    {"[metadata]\nopen = \"never\"\n", "7:8", "metadata.open",
     "expected one of \"always\", \"ttl\""},
    {"[metadata]\nposix = true\n", "7:9", "metadata.posix",
     "found a value of type boolean, expected one of \"off\","},
    {"[metadata]\nmanifest = \"names\"\n", "7:12", "metadata.manifest", "begin it with \"/\""},
    {"[mount]\nuid = -1\n", "7:7", "mount.uid", "expected a whole number from 0 to 4294967294"},
    {"[mount]\nfile_mode = \"0888\"\n", "7:13", "mount.file_mode",
     "expected permission bits in octal and in quotes, such as"},
    {"[mount]\nallow_other = \"true\"\n", "7:15", "mount.allow_other",
     "found a value of type string, expected true or false"},
    {"[mount]\nthreads = 257\n", "7:11", "mount.threads", "expected a whole number from 0 to 256"},
    {"[mount]\ntransport = \"tcp\"\n", "7:13", "mount.transport",
     "expected one of \"auto\", \"dev\", \"uring\""},
    {"[mount]\npoint = \"relative\"\n", "7:9", "mount.point", "begin it with \"/\""},
    {"[log]\nlevel = \"verbose\"\n", "7:9", "log.level",
     "expected trace, debug, info, warn or error"},
    {"[log]\nformat = \"xml\"\n", "7:10", "log.format",
     "expected one of \"text\", \"json\", \"journald\""},
    {"[metrics]\nlisten = \"9464\"\n", "7:10", "metrics.listen",
     "expected an IP address and a port (\"127.0.0.1:9464\","},
    {"[metrics]\nmode = \"rw\"\n", "7:8", "metrics.mode",
     "expected permission bits in octal and in quotes, such as"},
    {"[encryption]\nmode = \"aes\"\n", "7:8", "encryption.mode",
     "expected one of \"bucket\", \"sse-s3\", \"sse-kms\", \"sse-c\""},
    {"[encryption]\nmode = \"sse-c\"\n", "7", "encryption.mode",
     "which needs encryption.customer_key"},
    {"[credentials]\nanonymous = 1\n", "7:13", "credentials.anonymous",
     "found a value of type integer, expected true or false"},
    {"[credentials]\naccess_key_id = \"A\"\n", "7", "credentials.access_key_id",
     "set both or none"},
    {"[endpoint]\nregion = \"x\"\n", "6:1", "",
     "Error while parsing table header: cannot redefine existing"},
    {"[cache]\nsize = \"1GiB\"\nsize = \"2GiB\"\n", "8:8", "",
     "Error while parsing key-value pair: cannot redefine"},
    {"[cache\nsize = \"1GiB\"\n", "6:7", "", "saw '\\n'"},
    {"[cache]\nsize = 1GiB\n", "7:9", "", "saw 'G'"},
    {"[cache]\nsize = \"1GiB\n", "7:13", "",
     "Error while parsing string: unescaped control characters"},
    {"[cache]\n[[resident]]\nglob = 3\n", "8:8", "[[resident]] glob",
     "found a value of type integer, expected text in quotes"},
    {"[[resident]]\nglub = \"x\"\n", "7:1", "[[resident]] glub", "did you mean glob?"},
    {"[[bucket]]\nname=\"x\"\n", "6:1", "",
     "Error while parsing table header: cannot redefine existing"},
    {"profile = \"fast\"\n", "6:1", "endpoint.profile", "no such key"}};

TEST(MalformedMountFile, IsRefusedWithFileLineKeyAndExpectation) {
  for (const Mistake& mistake : kMistakes) {
    std::string where = "train.toml:" + std::string(mistake.position) + ": ";
    if (!mistake.key.empty()) where += std::string(mistake.key) + ": ";
    EXPECT_THAT(error_of(load_with(mistake.lines)),
                AllOf(StartsWith(where), HasSubstr(mistake.expected)))
        << mistake.lines;
  }
}

// The control: the lines below which each mistake stands are right.
TEST(MalformedMountFile, IsRefusedForItsMistakeAlone) { EXPECT_EQ(error_of(load_with("")), ""); }

}  // namespace
}  // namespace s3rdmafs::config
