// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/credentials/credentials_file.h"
#include "config/load.h"
#include "config/value.h"

namespace s3rdmafs::config {
namespace {

// A broken file is an error with a place and a reason, never a crash.
RC_GTEST_PROP(LoadMountConfig, SurvivesAnyBytes, (const std::string& bytes)) {
  const auto loaded = load_mount_config_text(bytes, "any.toml", {});
  RC_ASSERT(!loaded.has_value());  // it has no bucket.name
  RC_ASSERT(loaded.error().code == ErrorCode::kConfig);
  RC_ASSERT(loaded.error().detail.starts_with("any.toml:"));
}

// Damage to a good file: one line taken out, doubled, or cut.
RC_GTEST_PROP(LoadMountConfig, SurvivesADamagedFile, ()) {
  std::string text =
      "[bucket]\nname = \"train\"\n[endpoint]\nurl = \"http://a\"\n[cache]\nsize = \"1GiB\"\n";
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto length = *rc::gen::inRange<std::size_t>(0, 8);
  const auto bytes =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("\"[]=\n.#'{0")));
  text.replace(at, length, bytes);

  const auto loaded = load_mount_config_text(text, "damaged.toml", {});
  if (!loaded) RC_ASSERT(loaded.error().detail.starts_with("damaged.toml:"));
}

RC_GTEST_PROP(ParseCredentialsFile, SurvivesAnyBytes, (const std::string& bytes)) {
  const auto parsed = parse_credentials_file(bytes, "keys");
  if (!parsed) RC_ASSERT(parsed.error().detail.starts_with("keys:"));
}

// Text of any kind comes back through the printed form.
RC_GTEST_PROP(TomlString, IsReadBackAsTheSameText, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::inRange<char>(1, 127), rc::gen::element('"', '\\', '\n', '\t')));
  const auto loaded = load_mount_config_text(
      "[bucket]\nname = \"train\"\n[endpoint]\nurl = \"http://a\"\n[credentials]\nprofile = " +
          toml_string(text) + "\n",
      "text.toml", {});
  RC_ASSERT(loaded.has_value());
  RC_ASSERT(loaded->config.credentials.profile == text);
}

}  // namespace
}  // namespace s3rdmafs::config
