// SPDX-License-Identifier: Apache-2.0
// `manifest` without a server: from an inventory, and what it says of a manifest.
// tests/mount/manifest_test.py lists a bucket.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "run_verb.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;

class VerbManifestTest : public VerbTest {
 protected:
  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::string inventory(const std::string& rows) const {
    std::ofstream(path("inventory.csv")) << rows;
    return path("inventory.csv");
  }
  Outcome write(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "manifest",
        mount_file(),
        "-o",
        path("m"),
        "--from-inventory",
        inventory("\"data\",\"b/2\",\"20\",\"2026-01-02T03:04:05.000Z\",\"e2\"\n"
                  "\"data\",\"a/1\",\"10\",\"2026-01-02T03:04:05.000Z\",\"e1\"\n")};
    arguments.insert(arguments.begin() + 2, more.begin(), more.end());
    return run_verb(arguments);
  }
};

TEST_F(VerbManifestTest, WritesAnInventoryThatIsThenShownAndVerified) {
  const Outcome written = write();
  EXPECT_EQ(written.status, kExitSuccess) << written.err;
  EXPECT_EQ(written.out, path("m") + ": 2 objects, 30 bytes\n");

  const Outcome shown = run_verb({"manifest", "--show", path("m")});
  EXPECT_THAT(shown.out, HasSubstr("endpoint: http://127.0.0.1:1\nbucket: data\nprefix: \n"));
  EXPECT_THAT(shown.out, HasSubstr("objects: 2\nbytes: 30\n"));
  const Outcome key = run_verb({"manifest", "--show", path("m"), "b/2"});
  EXPECT_EQ(key.out, "key: b/2\nsize: 20\netag: \"e2\"\nmodified: 2026-01-02T03:04:05Z\n");
  const Outcome missing = run_verb({"manifest", "--show", path("m"), "b"});
  EXPECT_EQ(missing.status, kExitFailure);
  EXPECT_THAT(missing.err, HasSubstr("'b' is not in manifest"));

  const Outcome verified = run_verb({"manifest", "--verify", path("m")});
  EXPECT_EQ(verified.status, kExitSuccess);
  EXPECT_THAT(verified.out, HasSubstr("2 objects, nothing is damaged"));
}

TEST_F(VerbManifestTest, KeepsToAPrefixThatEndsInASlash) {
  EXPECT_THAT(write({"b"}).out, HasSubstr("1 objects, 20 bytes"));
  EXPECT_THAT(run_verb({"manifest", "--show", path("m")}).out, HasSubstr("prefix: b/\n"));
}

TEST_F(VerbManifestTest, NamesADamagedManifest) {
  ASSERT_EQ(write().status, kExitSuccess);
  std::fstream(path("m")).seekp(16'384 + 100).put('x');
  const Outcome verified = run_verb({"manifest", "--verify", path("m")});
  EXPECT_EQ(verified.status, kExitFailure);
  EXPECT_THAT(verified.err, HasSubstr("block 1 is damaged"));
  EXPECT_EQ(run_verb({"manifest", "--verify", path("missing")}).status, kExitFailure);
}

TEST_F(VerbManifestTest, LeavesTheOlderManifestWhereItFails) {
  ASSERT_EQ(write().status, kExitSuccess);
  const Outcome failed = run_verb({"manifest", mount_file(), "-o", path("m"), "--from-inventory",
                                   inventory("\"other\",\"a\",\"1\",\"2026-01-02T\",\"e\"\n")});
  EXPECT_EQ(failed.status, kExitFailure);
  EXPECT_THAT(failed.err, HasSubstr("inventory.csv:1: it is of bucket 'other'"));
  EXPECT_FALSE(std::filesystem::exists(path("m.partial")));
  EXPECT_THAT(run_verb({"manifest", "--verify", path("m")}).out, HasSubstr("2 objects"));
}

TEST_F(VerbManifestTest, SaysThatTheServerOrTheFolderIsNotThere) {
  const Outcome no_server = run_verb({"manifest", mount_file(), "-o", path("m")});
  EXPECT_EQ(no_server.status, kExitFailure);
  EXPECT_THAT(no_server.err, HasSubstr("s3rdmafs: "));
  EXPECT_FALSE(std::filesystem::exists(path("m")));
  const Outcome no_folder = run_verb({"manifest", mount_file(), "-o", path("no/m")});
  EXPECT_THAT(no_folder.err, HasSubstr("no/m.partial"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
