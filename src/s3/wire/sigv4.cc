// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/s3/sigv4.h"

#include <algorithm>
#include <ctime>
#include <span>

#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;
static_assert(sizeof(Digest) == sizeof(SigningKey));

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Digest hmac_sha256(std::span<const unsigned char> key, std::string_view text) {
  Digest digest{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(text), text.size(),
       digest.data(), &length);
  return digest;
}

std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// White space at both ends removed, runs of it inside made one space.
std::string tidy_value(std::string_view value) {
  std::string tidy;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      tidy += c;
    } else if (!tidy.empty() && tidy.back() != ' ') {
      tidy += ' ';
    }
  }
  if (!tidy.empty() && tidy.back() == ' ') tidy.pop_back();
  return tidy;
}

/// Lower-case names in order; the values of a repeated name are joined by commas.
NameValues canonical_headers(const SignedRequest& request) {
  NameValues headers;
  headers.reserve(request.headers.size());
  for (const auto& [name, value] : request.headers) {
    std::string lower = ascii_lower(name);
    const auto same = std::ranges::find(headers, lower, &NameValues::value_type::first);
    if (same == headers.end()) {
      headers.emplace_back(std::move(lower), tidy_value(value));
    } else {
      same->second += "," + tidy_value(value);
    }
  }
  std::ranges::sort(headers, {}, &NameValues::value_type::first);
  return headers;
}

std::string names_of(const NameValues& headers) {
  std::string names;
  for (const auto& [name, value] : headers) {
    if (!names.empty()) names += ';';
    names += name;
  }
  return names;
}

std::string canonical_query(const SignedRequest& request) {
  // The order is that of the encoded text, which differs from that of the decoded one.
  NameValues encoded;
  encoded.reserve(request.query.size());
  for (const auto& [name, value] : request.query) {
    encoded.emplace_back(uri_encode(name, /*keep_slash=*/false),
                         uri_encode(value, /*keep_slash=*/false));
  }
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

std::string canonical_text(const SignedRequest& request, const NameValues& headers,
                           const std::string& header_names) {
  std::string text = request.method + "\n" + request.encoded_path + "\n";
  text += canonical_query(request);
  text += '\n';
  for (const auto& [name, value] : headers) {
    text += name;
    text += ':';
    text += value;
    text += '\n';
  }
  text += '\n';
  text += header_names;
  text += '\n';
  text += request.payload_hash;
  return text;
}

}  // namespace

std::string SigningScope::to_string() const {
  return date + "/" + region + "/" + service + "/aws4_request";
}

std::string signed_header_names(const SignedRequest& request) {
  return names_of(canonical_headers(request));
}

std::string canonical_request(const SignedRequest& request) {
  const NameValues headers = canonical_headers(request);
  return canonical_text(request, headers, names_of(headers));
}

std::string string_to_sign(std::string_view amz_date, const SigningScope& scope,
                           std::string_view canonical_request) {
  std::string text = "AWS4-HMAC-SHA256\n";
  text += amz_date;
  text += '\n';
  text += scope.to_string();
  text += '\n';
  text += sha256_hex(canonical_request);
  return text;
}

SigningKey signing_key(std::string_view secret_access_key, const SigningScope& scope) {
  const std::string first = "AWS4" + std::string(secret_access_key);
  Digest digest = hmac_sha256({raw(first), first.size()}, scope.date);
  digest = hmac_sha256(digest, scope.region);
  digest = hmac_sha256(digest, scope.service);
  digest = hmac_sha256(digest, "aws4_request");
  SigningKey key{};
  std::ranges::copy(std::as_bytes(std::span(digest)), key.begin());
  return key;
}

std::string signature(const SigningKey& key, std::string_view string_to_sign) {
  return hex(hmac_sha256({reinterpret_cast<const unsigned char*>(key.data()), key.size()},
                         string_to_sign));
}

std::string authorization(const SignedRequest& request, std::string_view access_key_id,
                          const SigningKey& key, std::string_view amz_date,
                          const SigningScope& scope) {
  const NameValues headers = canonical_headers(request);
  const std::string names = names_of(headers);
  const std::string proof =
      signature(key, string_to_sign(amz_date, scope, canonical_text(request, headers, names)));
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                     access_key_id, scope.to_string(), names, proof);
}

std::string amz_date(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 17> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

std::string sha256_hex(std::string_view bytes) {
  Digest digest{};
  SHA256(raw(bytes), bytes.size(), digest.data());
  return hex(digest);
}

}  // namespace s3rdmafs::s3
