// SPDX-License-Identifier: Apache-2.0
#include "csi/volume/identity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "csi/volume/checks.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::csi {
namespace {

constexpr const char* kTokens = "csi.storage.k8s.io/serviceAccount.tokens";
constexpr const char* kNamespace = "csi.storage.k8s.io/pod.namespace";
constexpr const char* kServiceAccount = "csi.storage.k8s.io/serviceAccount.name";
// A Secret has at most 1 MiB; a chain of certificates has some ten thousand bytes.
constexpr std::size_t kSecretBytesMax = 256 * kKiB;

constexpr std::pair<std::string_view, const char*> kKeysOfSecrets[] = {
    {"access_key_id", "credentials.access_key_id"},
    {"secret_access_key", "credentials.secret_access_key"},
    {"session_token", "credentials.session_token"},
    {"customer_key", "encryption.customer_key"},
    {"dc_key", "rdma.dc_key"},
};

// As Kubernetes names them in Secrets of type kubernetes.io/tls.
constexpr std::pair<std::string_view, const char*> kFilesOfSecrets[] = {
    {"ca.crt", "endpoint.ca_file"},
    {"tls.crt", "endpoint.client_certificate"},
    {"tls.key", "endpoint.client_key"},
};

template <class Table>
const char* key_in(const Table& table, std::string_view name) {
  const auto* const found =
      std::ranges::find(table, name, [](const auto& row) { return row.first; });
  return found == std::end(table) ? nullptr : found->second;
}

Result<void> read_secret(const std::string& name, const std::string& value, Identity& identity) {
  if (value.size() > kSecretBytesMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("secret {}: is too long", name));
  }
  if (const char* const key = key_in(kKeysOfSecrets, name)) {
    if (value.empty() || !is_plain_text(value)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("secret {}: is not a text of one line", name));
    }
    identity.keys[key] = value;
    return {};
  }
  if (const char* const key = key_in(kFilesOfSecrets, name)) {
    identity.files[name] = value;
    identity.file_keys[key] = name;
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("secret '{}': no such key; known are access_key_id, secret_access_key, "
                          "session_token, customer_key, dc_key, ca.crt, tls.crt, tls.key",
                          printable(name.substr(0, 64))));
}

std::string text_of(const Texts& texts, const char* name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// {"AUDIENCE": {"token": "...", "expirationTimestamp": "..."}}, one for each audience of the
// CSIDriver object.
Result<std::string> token_in(const std::string& tokens, const std::string& audience) {
  const auto document = nlohmann::json::parse(tokens, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no tokens", kTokens));
  }
  if (audience.empty() && document.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                "there are tokens of several audiences; set the attribute audience");
  }
  const auto entry = audience.empty() ? document.begin() : document.find(audience);
  if (entry == document.end()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no token of audience {}; name it in tokenRequests of the "
                            "CSIDriver object",
                            audience));
  }
  const auto token = entry->is_object() ? entry->find("token") : entry->end();
  if (!entry->is_object() || token == entry->end() || !token->is_string() ||
      !is_plain_text(token->get_ref<const std::string&>())) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no token", kTokens));
  }
  return token->get<std::string>();
}

Result<void> read_pod(const VolumeSettings& settings, const Texts& context, Identity& identity) {
  const std::string tokens = text_of(context, kTokens);
  const std::string space = text_of(context, kNamespace);
  const std::string account = text_of(context, kServiceAccount);
  if (tokens.empty() || space.empty() || account.empty()) {
    return fail(ErrorCode::kUnsupported,
                "authentication = pod, and kubelet names no service account with a token; the "
                "CSIDriver object needs podInfoOnMount, tokenRequests and requiresRepublish");
  }
  const auto token = token_in(tokens, settings.audience);
  if (!token) return std::unexpected(token.error());
  identity.name = fmt::format("service account {}/{}", printable(space), printable(account));
  identity.files[kTokenFile] = *token;
  return {};
}

std::string_view name_of(Authentication authentication) {
  switch (authentication) {
    case Authentication::kSecret:
      return "a Secret";
    case Authentication::kPod:
      return "a service account";
    case Authentication::kNode:
      return "the node";
    case Authentication::kAnonymous:
      break;
  }
  return "anonymous";
}

Result<void> check_keys(const VolumeSettings& settings, const Identity& identity) {
  const bool has_id = identity.keys.contains("credentials.access_key_id");
  const bool has_secret = identity.keys.contains("credentials.secret_access_key");
  if (settings.authentication != Authentication::kSecret) {
    if (!has_id && !has_secret) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the Secret has keys, but authentication says {}; set it to secret",
                            name_of(settings.authentication)));
  }
  if (has_id && has_secret) return {};
  return fail(ErrorCode::kInvalidArgument,
              "no access_key_id and secret_access_key: name a Secret with both in "
              "nodePublishSecretRef or nodeStageSecretRef, or set the attribute authentication");
}

}  // namespace

std::string Identity::digest_text() const {
  std::string text = name + "\n";
  for (const auto& [key, value] : keys) text += fmt::format("{}={}:{}\n", key, value.size(), value);
  for (const auto& [file, content] : files) {
    if (file != kTokenFile) text += fmt::format("{}={}:{}\n", file, content.size(), content);
  }
  return text;
}

Result<Identity> make_identity(const VolumeSettings& settings, const Texts& secrets,
                               const Texts& context) {
  Identity identity{.name = std::string(name_of(settings.authentication)),
                    .keys = {},
                    .files = {},
                    .file_keys = {}};
  for (const auto& [name, value] : secrets) {
    if (auto read = read_secret(name, value, identity); !read) {
      return std::unexpected(read.error());
    }
  }
  if (auto good = check_keys(settings, identity); !good) return std::unexpected(good.error());
  if (settings.authentication == Authentication::kPod) {
    if (auto read = read_pod(settings, context, identity); !read) {
      return std::unexpected(read.error());
    }
  }
  return identity;
}

}  // namespace s3rdmafs::csi
