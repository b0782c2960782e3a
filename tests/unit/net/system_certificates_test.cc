// SPDX-License-Identifier: Apache-2.0
#include "net/system_certificates.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::net {
namespace {

std::string choose(std::string_view built_in, const std::set<std::string, std::less<>>& files) {
  return choose_certificates(built_in,
                             [&files](std::string_view path) { return files.contains(path); });
}

TEST(SystemCertificates, ADefaultThatIsThereServes) {
  EXPECT_EQ(choose("/etc/ssl/certs/ca-certificates.crt",
                   {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}),
            "");
}

TEST(SystemCertificates, ALibraryOfDebianFindsThoseOfRhel) {
  EXPECT_EQ(choose("/etc/ssl/certs/ca-certificates.crt", {"/etc/pki/tls/certs/ca-bundle.crt"}),
            "/etc/pki/tls/certs/ca-bundle.crt");
}

TEST(SystemCertificates, ALibraryWithoutADefaultFindsThoseOfDebianAndSuse) {
  EXPECT_EQ(choose("", {"/etc/ssl/certs/ca-certificates.crt"}),
            "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(choose("", {"/etc/ssl/ca-bundle.pem"}), "/etc/ssl/ca-bundle.pem");
}

TEST(SystemCertificates, WhereThereAreNoneNothingIsNamed) {
  EXPECT_EQ(choose("", {}), "");
  EXPECT_EQ(choose("/etc/ssl/certs/ca-certificates.crt", {}), "");
}

}  // namespace
}  // namespace s3rdmafs::net
