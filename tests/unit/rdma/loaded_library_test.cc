// SPDX-License-Identifier: Apache-2.0
// Libraries that a node may lack. The C library's own stand for those that are there.
#include "rdma/loader/loaded_library.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::rdma::loader {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::array kOfLibm = {"cos", "sin"};

TEST(LoadedLibrary, GivesItsFunctions) {
  const LoadedLibrary library("libm.so.6", kOfLibm, "advice");
  ASSERT_EQ(library.fault(), "");
  const auto cosine = reinterpret_cast<double (*)(double)>(library.function("cos"));
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(LoadedLibrary, SaysWhichOneIsMissingAndWhatToDo) {
  const LoadedLibrary library("libnot-here.so.1", kOfLibm, "install it");
  EXPECT_THAT(library.fault(), AllOf(HasSubstr("libnot-here.so.1"), HasSubstr("install it")));
}

TEST(LoadedLibrary, IsRefusedWhereItLacksAFunction) {
  constexpr std::array kNewer = {"cos", "cos_of_tomorrow"};
  const LoadedLibrary library("libm.so.6", kNewer, "install a newer one");
  EXPECT_EQ(library.fault(),
            "libm.so.6 is too old, it has no cos_of_tomorrow: install a newer one");
}

}  // namespace
}  // namespace s3rdmafs::rdma::loader
