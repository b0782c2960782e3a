// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount_file.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string source_of(const LoadedConfig& loaded, std::string_view section, std::string_view name) {
  return loaded.sources.at(find_key(section, name));
}

TEST(LoadMountConfig, FillsInDefaultsWhereTheFileIsSilent) {
  const auto loaded = load_with("");

  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(loaded->config.bucket.name, "train");
  EXPECT_EQ(loaded->config.cache.size_bytes, kGiB);
  EXPECT_EQ(loaded->config.rdma.mode, RdmaMode::kPrefer);
  EXPECT_EQ(loaded->config.retry.deadline, std::chrono::seconds(30));
  EXPECT_EQ(loaded->config.mount.file_mode, 0444U);
  EXPECT_THAT(loaded->warnings, IsEmpty());
}

TEST(LoadMountConfig, KnowsWhereEveryValueCameFrom) {
  const Override option{.key = find_key("http", "event_threads"),
                        .text = "3",
                        .source = "option -o http.event_threads"};

  const auto loaded = load_with("[cache]\nsize = \"64MiB\"\n",
                                {.variables = {{"S3RDMAFS_LOG_LEVEL", "debug"}}}, {&option, 1});

  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(loaded->sources.size(), schema().size());
  EXPECT_EQ(source_of(*loaded, "cache", "size"), "train.toml:7");
  EXPECT_EQ(source_of(*loaded, "log", "level"), "environment S3RDMAFS_LOG_LEVEL");
  EXPECT_EQ(source_of(*loaded, "http", "event_threads"), "option -o http.event_threads");
  EXPECT_EQ(source_of(*loaded, "metadata", "ttl"), "default");
}

TEST(LoadMountConfig, LetsTheEnvironmentWinOverTheFileAndOptionsOverBoth) {
  const std::string file = "[cache]\nsize = \"64MiB\"\n";
  const Environment environment{.variables = {{"S3RDMAFS_CACHE_SIZE", "128MiB"}}};
  const Override option{.key = find_key("cache", "size"), .text = "256MiB", .source = "option"};

  EXPECT_EQ(load_with(file)->config.cache.size_bytes, 64 * kMiB);
  EXPECT_EQ(load_with(file, environment)->config.cache.size_bytes, 128 * kMiB);
  EXPECT_EQ(load_with(file, environment, {&option, 1})->config.cache.size_bytes, 256 * kMiB);
}

TEST(LoadMountConfig, TakesAnEmptyVariableForAnUnsetOne) {
  const auto loaded = load_with("", {.variables = {{"S3RDMAFS_CACHE_SIZE", ""}}});

  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(source_of(*loaded, "cache", "size"), "default");
}

TEST(LoadMountConfig, TakesRequiredKeysFromTheEnvironmentToo) {
  const Environment environment{.variables = {{"S3RDMAFS_BUCKET_NAME", "train"},
                                              {"S3RDMAFS_ENDPOINT_URL", "https://s3.example.org"}}};

  EXPECT_TRUE(load_mount_config_text("", "empty.toml", environment));
  EXPECT_FALSE(load_mount_config_text("", "empty.toml", {})) << "the control";
}

TEST(LoadMountConfig, DefaultsOwnerAndAccessFromWhoMounts) {
  const auto user = load_with("", {.uid = 1000, .gid = 100, .is_root = false});
  const auto root = load_with("", {.uid = 0, .gid = 0, .is_root = true});

  EXPECT_EQ(user->config.mount.uid, 1000U);
  EXPECT_EQ(user->config.mount.gid, 100U);
  EXPECT_FALSE(user->config.mount.allow_other);
  EXPECT_TRUE(root->config.mount.allow_other);
}

TEST(LoadMountConfig, SamplesTransfersWhereTheFabricTellsOfNoArrival) {
  const auto verify_with = [](const std::string& rdma) {
    return load_with("[rdma]\n" + rdma)->config.rdma.verify;
  };
  EXPECT_EQ(verify_with("fabric = \"dc\"\n"), Verify::kSample);
  EXPECT_EQ(verify_with("fabric = \"dc\"\nverify = \"off\"\n"), Verify::kOff) << "if asked to";
  EXPECT_EQ(verify_with("fabric = \"rc\"\n"), Verify::kOff);
  EXPECT_EQ(verify_with("fabric = \"auto\"\n"), Verify::kOff);
}

TEST(LoadMountConfig, NamesFileLineColumnAndKeyOfAWrongValue) {
  EXPECT_THAT(error_of(load_with("[cache]\nsize = \"1GB\"\n")),
              StartsWith("train.toml:7:8: cache.size: '1GB' is not a size; write it like"));
}

TEST(LoadMountConfig, NamesTheVariableOfAWrongValue) {
  EXPECT_THAT(error_of(load_with("", {.variables = {{"S3RDMAFS_CACHE_SIZE", "1GB"}}})),
              StartsWith("S3RDMAFS_CACHE_SIZE: cache.size: '1GB' is not a size"));
}

TEST(LoadMountConfig, NamesTheOptionOfAWrongValue) {
  const Override option{
      .key = find_key("cache", "size"), .text = "1GB", .source = "option -o cache.size"};

  EXPECT_THAT(error_of(load_with("", {}, {&option, 1})),
              StartsWith("option -o cache.size: cache.size: '1GB' is not a size"));
}

TEST(LoadMountConfig, RefusesAWrongValueAlsoWhereAStrongerSourceHidesIt) {
  const Environment environment{.variables = {{"S3RDMAFS_CACHE_SIZE", "128MiB"}}};

  EXPECT_THAT(error_of(load_with("[cache]\nsize = \"1GB\"\n", environment)),
              StartsWith("train.toml:7:8: cache.size"));
}

TEST(LoadMountConfig, ReportsEverythingThatIsWrongAtOnce) {
  const std::string error = error_of(load_mount_config_text(
      "[bucket]\nnaem = \"x\"\n[htpp]\n[http]\nevent_threads = \"2\"\nconnections_max = 5000\n",
      "train.toml", {}));

  EXPECT_THAT(error, HasSubstr("train.toml:2:1: bucket.naem: no such key; did you mean name?"));
  EXPECT_THAT(error, HasSubstr("train.toml:3:2: [htpp]: no such section; did you mean http?"));
  EXPECT_THAT(error, HasSubstr("train.toml:5:17: http.event_threads: found a value of type string, "
                               "expected a whole number from 1 to 64"));
  EXPECT_THAT(error, HasSubstr("train.toml:6:19: http.connections_max: '5000' is too large"));
  EXPECT_THAT(error, HasSubstr("train.toml: bucket.name: missing; write it under [bucket], or set "
                               "S3RDMAFS_BUCKET_NAME"));
  EXPECT_THAT(error, HasSubstr("train.toml: endpoint.url: missing"));
}

TEST(LoadMountConfig, TakesSeveralServersAsAnArrayOrFromTheEnvironment) {
  const std::vector<std::string> both = {"http://a:1", "http://b:2"};
  const std::string bucket = "[bucket]\nname = \"train\"\n";
  const auto array = load_mount_config_text(
      bucket + "[endpoint]\nurls = [\"http://a:1\", \"http://b:2\"]\n", "train.toml", {});
  ASSERT_TRUE(array) << error_of(array);
  EXPECT_EQ(array->config.endpoint.all_urls(), both);
  const auto variable = load_mount_config_text(
      bucket, "train.toml", {.variables = {{"S3RDMAFS_ENDPOINT_URLS", "http://a:1,http://b:2"}}});
  ASSERT_TRUE(variable) << error_of(variable);
  EXPECT_EQ(variable->config.endpoint.all_urls(), both);
  EXPECT_EQ(load_with("")->config.endpoint.all_urls().size(), 1U) << "one by endpoint.url";
}

TEST(LoadMountConfig, WantsExactlyOneOfUrlAndUrls) {
  const std::string bucket = "[bucket]\nname = \"train\"\n[endpoint]\n";
  const auto load = [&](const std::string& endpoint) {
    return error_of(load_mount_config_text(bucket + endpoint, "train.toml", {}));
  };
  EXPECT_THAT(load(""), HasSubstr("endpoint.url: missing; write it or urls"));
  EXPECT_THAT(load("url = \"http://a\"\nurls = [\"http://b\"]\n"),
              StartsWith("train.toml:5: endpoint.urls: is set together with endpoint.url"));
  EXPECT_THAT(load("urls = []\n"), HasSubstr("is empty"));
  EXPECT_THAT(load("urls = \"http://b\"\n"), HasSubstr("type string, expected up to 256 texts"));
  EXPECT_THAT(load("urls = [1]\n"), HasSubstr("type array"));
  EXPECT_EQ(load("urls = [\"http://b\"]\n"), "") << "the control";
}

TEST(LoadMountConfig, TakesAnyNumberOfResidentTables) {
  const auto loaded = load_with(
      "[[resident]]\nglob = \"weights/*.safetensors\"\n[[resident]]\nglob = \"index/\"\n");
  ASSERT_TRUE(loaded) << error_of(loaded);
  ASSERT_EQ(loaded->config.resident.size(), 2U);
  EXPECT_EQ(loaded->config.resident[0].glob, "weights/*.safetensors");
  EXPECT_EQ(loaded->config.resident[1].glob, "index");
  EXPECT_TRUE(load_with("")->config.resident.empty());
}

TEST(LoadMountConfig, SaysWhatIsWrongInAResidentTable) {
  const auto error = [](std::string_view text) { return error_of(load_with(text)); };
  EXPECT_THAT(error("[[resident]]\n"), HasSubstr("[[resident]]: has no key glob"));
  EXPECT_THAT(error("[[resident]]\nglobe = \"a\"\n"),
              HasSubstr("[[resident]] globe: no such key; did you mean glob?"));
  EXPECT_THAT(error("[[resident]]\nglob = 1\n"), HasSubstr("expected text in quotes"));
  for (const char* glob : {"", "/", "//a", "a//b", "../a", "/../a", "a/./b"}) {
    EXPECT_THAT(error(fmt::format("[[resident]]\nglob = \"{}\"\n", glob)),
                HasSubstr("[[resident]] glob: "))
        << glob;
  }
  EXPECT_THAT(error("[resident]\nglob = \"a\"\n"), HasSubstr("write [[resident]]"));
  EXPECT_THAT(error("[[cache]]\nsize = 1\n"), HasSubstr("may appear only once"));
  EXPECT_THAT(error("[[residents]]\n"), HasSubstr("did you mean resident?"));
}

TEST(LoadMountConfig, ResidentObjectsNeedSomeMemory) {
  constexpr std::string_view kTable = "[[resident]]\nglob = \"a\"\n";
  for (const std::string key : {"passthrough_max", "resident_size"}) {
    EXPECT_THAT(error_of(load_with(fmt::format("[cache]\n{} = 0\n{}", key, kTable))),
                HasSubstr("leaves nothing for [[resident]]"));
    EXPECT_TRUE(load_with(fmt::format("[cache]\n{} = 0\n", key))) << "the control";
  }
}

TEST(LoadMountConfig, RefusesAKeyOutsideEverySection) {
  EXPECT_THAT(error_of(load_mount_config_text("name = \"x\"\n", "train.toml", {})),
              StartsWith("train.toml:1:1: name: is outside every section"));
}

TEST(LoadMountConfig, RefusesLettersOfAllLanguagesOutsideTextsAndComments) {
  for (const std::string letter : {"\u00e9", "\u03b1", "\u30a2", "\ufa10"}) {
    EXPECT_THAT(error_of(load_with("[cache]\n" + letter)), StartsWith("train.toml:7:1")) << letter;
    EXPECT_FALSE(load_with("[cache]\nsize = " + letter)) << letter;
    EXPECT_TRUE(load_with("# " + letter + "\n")) << "the control";
  }
}

TEST(LoadMountConfig, RefusesArraysAndTablesAsValues) {
  EXPECT_THAT(error_of(load_with("[cache]\nsize = [1]\n")), HasSubstr("type array"));
  EXPECT_THAT(error_of(load_with("[cache.size]\nx = 1\n")), HasSubstr("type table"));
  EXPECT_THAT(error_of(load_with("[cache]\nsize = 1.5\n")), HasSubstr("type float"));
}

TEST(LoadMountConfig, GivesThePositionOfASyntaxError) {
  EXPECT_THAT(error_of(load_with("[cache\n")), StartsWith("train.toml:6:"));
  EXPECT_THAT(error_of(load_with("[cache]\nsize = \"1GiB\n")), StartsWith("train.toml:7:"));
  EXPECT_THAT(error_of(load_with("[bucket]\n")), StartsWith("train.toml:6:")) << "defined twice";
}

// toml++ 3.3.0 aborts at these unless told not to (see toml_document.cc).
TEST(LoadMountConfig, GivesThePositionOfAHeaderThatDoesNotBeginWithAKey) {
  for (const std::string header : {"[.a]", "[=]", "[#]", "[[.a]]", "[*]", "[[["}) {
    EXPECT_THAT(error_of(load_with(header)), StartsWith("train.toml:6:")) << header;
  }
}

TEST(LoadMountConfig, NeverPrintsASecret) {
  const std::string error = error_of(load_with("[credentials]\nsecret_access_key = \"hunter2\"\n"));

  EXPECT_THAT(error, HasSubstr("credentials.secret_access_key"));
  EXPECT_THAT(error, Not(HasSubstr("hunter2")));
}

TEST(LoadMountConfig, ReadsAheadNoFurtherThanASmallCacheHolds) {
  const auto small = load_with("[cache]\nsize = \"72MiB\"\n");
  ASSERT_TRUE(small) << small.error().detail;
  EXPECT_EQ(small->config.read_ahead.window_max_bytes, 72 * kMiB);
  EXPECT_EQ(load_with("")->config.read_ahead.window_max_bytes, 256 * kMiB) << "the control";
}

TEST(LoadMountConfig, RefusesAKeyThatWouldBreakARequestsHeaders) {
  const std::string error = error_of(load_with(
      "[credentials]\naccess_key_id = \"AK\\r\\nX-Evil: 1\"\nsecret_access_key = \"s\"\n"));
  EXPECT_THAT(error, HasSubstr("control character"));
}

const std::string kCustomerKey = "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=";

TEST(LoadMountConfig, RefusesKeysThatContradictEachOther) {
  const std::pair<std::string, std::string> contradictions[] = {
      {"[credentials]\naccess_key_id = \"A\"\n", "set both or none"},
      {"[credentials]\nanonymous = true\nfile = \"/keys\"\n", "credentials.anonymous"},
      {"[credentials]\nsession_token = \"T\"\n", "belongs to an access_key_id"},
      {"[read_ahead]\nwindow_max = \"2GiB\"\n", "larger than cache.size"},
      {"[cache]\nsize = \"128MiB\"\nresident_size = \"65MiB\"\n",
       "cache.resident_size: leaves less than 64MiB of cache.size"},
      {"[metrics]\ngroup = \"adm\"\nlisten = \"127.0.0.1:9464\"\n",
       "group: needs metrics.listen = \"unix:/PATH\""},
      {"[encryption]\nkms_key = \"k\"\n", "kms_key: needs encryption.mode = \"sse-kms\""},
      {"[encryption]\ncustomer_key = \"" + kCustomerKey + "\"\n",
       "customer_key: needs encryption.mode = \"sse-c\""},
      {"[encryption]\nmode = \"sse-c\"\n", "needs encryption.customer_key"}};
  for (const auto& [text, words] : contradictions) {
    EXPECT_THAT(error_of(load_with(text)), HasSubstr(words));
  }
  EXPECT_THAT(error_of(load_with("[retry]\nbackoff_first = \"10s\"\n")),
              StartsWith("train.toml:7: retry.backoff_first: is longer than retry.backoff_max"));
}

TEST(LoadMountConfig, WantsACertificateForAPrivateKey) {
  const auto load = [](const std::string& keys) {
    return load_mount_config_text(
        "[bucket]\nname = \"train\"\n[endpoint]\nurl = \"https://a\"\n" + keys, "train.toml", {});
  };
  EXPECT_THAT(error_of(load("client_key = \"/k\"\n")),
              HasSubstr("belongs to a client_certificate"));
  EXPECT_TRUE(load("client_certificate = \"/c\"\n")) << "which may have its key";
}

TEST(LoadMountConfig, LetsACustomersKeyLeaveTheHostOverTlsAlone) {
  const auto load = [](const std::string& url) {
    return load_mount_config_text("[bucket]\nname = \"train\"\n[endpoint]\nurl = \"" + url +
                                      "\"\n[encryption]\nmode = \"sse-c\"\ncustomer_key = \"" +
                                      kCustomerKey + "\"\n",
                                  "train.toml", {});
  };
  EXPECT_THAT(error_of(load("http://s3.example")), HasSubstr("needs https:// endpoints"));
  EXPECT_TRUE(load("https://s3.example"));
  EXPECT_TRUE(load("http://127.0.0.1:9000"));
}

TEST(LoadMountConfig, NeverShowsWhatMayBeASecret) {
  for (const std::string wrong : {"[encryption]\ncustomer_key = \"hunter2\"\n",
                                  "[endpoint]\nproxy = \"http://me:hunter2@proxy\"\n"}) {
    const auto loaded =
        load_mount_config_text("[bucket]\nname = \"train\"\n" + wrong, "train.toml",
                               {.variables = {{"S3RDMAFS_ENDPOINT_URL", "http://a"}}});
    EXPECT_THAT(error_of(loaded), AllOf(Not(IsEmpty()), Not(HasSubstr("hunter2")))) << wrong;
  }
}

TEST(LoadMountConfig, WarnsOfAVariableThatSetsNothing) {
  const auto loaded = load_with("", {.variables = {{"S3RDMAFS_CACHE_SIZ", "1GiB"}}});

  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_THAT(loaded->warnings, ElementsAre(AllOf(HasSubstr("S3RDMAFS_CACHE_SIZ "),
                                                  HasSubstr("did you mean S3RDMAFS_CACHE_SIZE?"))));
}

TEST(LoadMountConfig, LeavesTimeForASecondAttemptWhereATransferIsStuck) {
  const MountConfig config = load_with("")->config;
  EXPECT_LE(2 * (config.http.connect_timeout + config.rdma.transfer_timeout),
            config.retry.deadline);
}

TEST(LoadMountConfig, WarnsOfATransferThatLeavesNoTimeForASecondAttempt) {
  const auto warnings = [](const std::string& text) { return load_with(text)->warnings; };
  EXPECT_THAT(warnings("[rdma]\ntransfer_timeout = \"16s\"\n"),
              ElementsAre(AllOf(StartsWith("train.toml:7"), HasSubstr("rdma.transfer_timeout"),
                                HasSubstr("retry.deadline"))));
  EXPECT_THAT(warnings("[retry]\ndeadline = \"19s\"\n"),
              ElementsAre(StartsWith("train.toml: rdma.transfer_timeout")));
  EXPECT_THAT(warnings("[rdma]\ntransfer_timeout = \"15s\"\n"), IsEmpty());
  EXPECT_THAT(warnings("[retry]\ndeadline = \"20s\"\n"), IsEmpty());
  EXPECT_THAT(warnings("[retry]\ndeadline = \"19s\"\n[rdma]\nmode = \"off\"\n"), IsEmpty())
      << "no transfer, no warning";
}

TEST(LoadMountConfig, WarnsOfASecretInAFileThatOthersMayRead) {
  const TemporaryFolder folder;
  const auto with_secret = folder.write(
      "secret.toml", std::string(kRequiredKeys) +
                         "[credentials]\naccess_key_id = \"A\"\nsecret_access_key = \"S\"\n");
  const auto without = folder.write("plain.toml", kRequiredKeys);
  ASSERT_EQ(::chmod(with_secret.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(without.c_str(), 0644), 0);

  EXPECT_THAT(load_mount_config(with_secret, {})->warnings,
              ElementsAre(HasSubstr("chmod 600 " + with_secret.string())));
  EXPECT_THAT(load_mount_config(without, {})->warnings, IsEmpty());

  ASSERT_EQ(::chmod(with_secret.c_str(), 0600), 0);
  EXPECT_THAT(load_mount_config(with_secret, {})->warnings, IsEmpty());
}

TEST(LoadMountConfig, TakesAManifestForAMountThatDoesNotWrite) {
  const std::string manifest = "[metadata]\nmanifest = \"/m\"\n";
  const auto loaded = load_with(manifest);
  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(loaded->config.metadata.manifest, "/m");
  EXPECT_THAT(error_of(load_with(manifest + "[write]\nmode = \"sequential\"\n")),
              StartsWith("train.toml:7: metadata.manifest: needs write.mode = \"off\""));
  EXPECT_THAT(error_of(load_with("[metadata]\nmanifest = \"m\"\n")), HasSubstr("metadata.manifest"))
      << "a daemon has no working directory";
}

TEST(LoadMountConfig, KeepsAttributesOnlyWhereFilesAreStaged) {
  EXPECT_EQ(load_with("")->config.metadata.posix, PosixMetadata::kOff);
  const std::string read = "[metadata]\nposix = \"read\"\n";
  EXPECT_EQ(load_with(read)->config.metadata.posix, PosixMetadata::kRead);
  const std::string write = "[metadata]\nposix = \"write\"\n";
  const auto loaded = load_with(write + "[write]\nmode = \"staged\"\n");
  ASSERT_TRUE(loaded) << error_of(loaded);
  EXPECT_EQ(loaded->config.metadata.posix, PosixMetadata::kWrite);
  for (const std::string mode : {"off", "sequential"}) {
    EXPECT_THAT(error_of(load_with(write + "[write]\nmode = \"" + mode + "\"\n")),
                StartsWith("train.toml:7: metadata.posix: is \"write\", which needs write.mode"));
  }
  EXPECT_THAT(error_of(load_with(read + "manifest = \"/m\"\n")),
              HasSubstr("metadata.posix: needs an empty metadata.manifest"));
}

TEST(LoadMountConfig, WarnsRootOfAFileThatOthersMayWrite) {
  const TemporaryFolder folder;
  const auto file = folder.write("train.toml", kRequiredKeys);
  const Environment root{.is_root = true};
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_THAT(load_mount_config(file, {})->warnings, IsEmpty()) << "the control: not root";
  if (::geteuid() != 0) {
    EXPECT_THAT(load_mount_config(file, root)->warnings, ElementsAre(HasSubstr("chown root")));
    return;
  }
  EXPECT_THAT(load_mount_config(file, root)->warnings, ElementsAre(HasSubstr("chmod go-w")));
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_THAT(load_mount_config(file, root)->warnings, IsEmpty());
  ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
  EXPECT_THAT(load_mount_config(file, root)->warnings, IsEmpty()) << "the group is root's";
  ASSERT_EQ(::chown(file.c_str(), 0, 12345), 0);
  EXPECT_THAT(load_mount_config(file, root)->warnings, ElementsAre(HasSubstr("chmod go-w")));
  ASSERT_EQ(::chown(file.c_str(), 12345, 0), 0);
  EXPECT_THAT(load_mount_config(file, root)->warnings, ElementsAre(HasSubstr("chown root")));
}

TEST(LoadMountConfig, SaysWhyAFileCannotBeRead) {
  const TemporaryFolder folder;
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

  EXPECT_EQ(error_of(load_mount_config("/nowhere/train.toml", {})),
            "/nowhere/train.toml: No such file or directory");
  EXPECT_THAT(error_of(load_mount_config(folder.path(), {})), HasSubstr("is a directory"));
  EXPECT_THAT(error_of(load_mount_config(fifo, {})), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of(load_mount_config(folder.write("big", std::string(2 * kMiB, '#')), {})),
              HasSubstr("larger than 1 MiB"));
}

}  // namespace
}  // namespace s3rdmafs::config
