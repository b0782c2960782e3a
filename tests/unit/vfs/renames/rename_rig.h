// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "../writable_bucket.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

/// A bucket that is mounted to be written, and renames in its root.
class RenameRig : public testing::Test {
 protected:
  std::string_view rename(std::string_view from, std::string_view to, bool must_be_new = false) {
    const auto renamed = bucket_.rename(from, to, must_be_new);
    return renamed ? "" : error_code_name(renamed.error().code);
  }
  std::string read_all(Ino ino) {
    const auto opened = bucket_.open(ino);
    if (!opened) return std::string(error_code_name(opened.error().code));
    const auto text = bucket_.read(opened->handle, 0, 100);
    fs_.release(opened->handle);
    return text ? *text : std::string(error_code_name(text.error().code));
  }
  std::string read_all(std::string_view name) { return read_all(bucket_.ino_of(name)); }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

}  // namespace s3rdmafs::vfs
