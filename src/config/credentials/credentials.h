// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "config/environment.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The keys that sign requests. The secret and the token must never be logged.
struct Credentials {
  bool anonymous = false;  ///< requests go unsigned; all other fields are empty
  std::string access_key_id = {};
  std::string secret_access_key = {};
  std::string session_token = {};  ///< empty: none
};

struct CredentialChoice;

// Where keys can come from. Those that a mount gets again and again are not fetched here.

/// A profile of a credentials file, which may be written again while the mount runs.
struct KeysInFile {
  Credentials keys;  ///< as they are now
  std::filesystem::path credentials_file;
  std::filesystem::path config_file;  ///< empty: none
  std::string profile;
};
/// A program that prints them (credential_process).
struct KeysOfProcess {
  std::string command;  ///< for /bin/sh
};
/// STS AssumeRoleWithWebIdentity: for a token that a cluster puts into a file.
struct KeysOfWebIdentity {
  std::string role_arn;
  std::string session_name;
  std::filesystem::path token_file;
};
/// STS AssumeRole, signed with the keys of another source.
struct KeysOfRole {
  std::string role_arn;
  std::string session_name;
  std::string external_id;  ///< empty: none
  std::shared_ptr<const CredentialChoice> source;
};
/// The endpoint that a container is told of (ECS, EKS Pod Identity).
struct KeysOfContainer {
  std::string url;
  std::string authorization = {};  ///< empty: none, or in the file
  std::filesystem::path authorization_file = {};
};
/// The role of a cloud instance (IMDSv2).
struct KeysOfInstance {
  std::string url;  ///< without a path
};

/// A role of IAM Identity Center, for a person's sign-in (`aws sso login`).
struct KeysOfSso {
  std::string portal_url;  ///< without a path
  std::string account_id;
  std::string role_name;
  std::filesystem::path cache_folder;  ///< where the AWS tools keep sign-ins
  std::string cache_key;               ///< the name of the session, or the start URL
  std::string profile;                 ///< for messages
};

/// Where the keys of a mount come from.
struct CredentialChoice {
  std::string origin;        ///< for the log: "the mount file", "/root/.aws/credentials [default]"
  std::string warning = {};  ///< of the file they are from, for the log; empty: none
  /// The server that gives the keys of roles: credentials.sts_url, else AWS_ENDPOINT_URL_STS, else
  /// Amazon's of the region. Without a path.
  std::string sts_url = {};
  /// Of the last resort, the role of an instance: the message for a machine that has none.
  std::string searched = {};
  std::variant<Credentials, KeysInFile, KeysOfProcess, KeysOfWebIdentity, KeysOfRole,
               KeysOfContainer, KeysOfInstance, KeysOfSso>
      source;
};

/// Finds where the keys of a mount come from, as s3rdmafs.toml(5), CREDENTIALS, says. The first
/// place that says anything decides; it must then be whole. Sends no request, runs no program.
///
/// Errors: kConfig, with the error, or with every place that was searched.
[[nodiscard]] Result<CredentialChoice> choose_credentials(const MountConfig& config,
                                                          const Environment& environment);

/// Reads a profile with keys again. Errors: kConfig.
[[nodiscard]] Result<Credentials> read_keys(const KeysInFile& source);

}  // namespace s3rdmafs::config
