// SPDX-License-Identifier: Apache-2.0
// Source: AWS, "Authenticating Requests (AWS Signature Version 4)": the Authorization header, query
// parameters (presigned addresses), and the limits on skew and expiry.
#include "target/auth/verify.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>

#include <openssl/crypto.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::target {
namespace {

using std::chrono::system_clock;

constexpr std::chrono::minutes kSkewMax{15};
constexpr std::chrono::seconds kPresignedLifeMax{7 * 24 * 3600};
constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kPayloadHashHeader = "x-amz-content-sha256";

/// The claims of a request, before any of them is believed.
struct Claim {
  std::string access_key;
  s3::SigningScope scope;
  std::string amz_date;
  std::vector<std::string> signed_headers;
  std::string signature;
  bool is_presigned = false;
  std::chrono::seconds life{0};
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "ACCESS/20130524/us-east-1/s3/aws4_request"; the access key itself may contain "/".
bool parse_credential(std::string_view credential, Claim& claim) {
  std::vector<std::string> parts = split(credential, '/');
  if (parts.size() < 5 || parts.back() != "aws4_request") return false;
  const std::size_t n = parts.size();
  claim.scope.date = parts[n - 4];
  claim.scope.region = parts[n - 3];
  claim.scope.service = parts[n - 2];
  const std::string tail =
      fmt::format("/{}/{}/{}/{}", parts[n - 4], parts[n - 3], parts[n - 2], parts[n - 1]);
  claim.access_key = credential.substr(0, credential.size() - tail.size());
  return !claim.access_key.empty();
}

S3Result<Claim> parse_authorization(const Request& request, std::string_view authorization) {
  if (!authorization.starts_with(kAlgorithm)) {
    return refuse(
        kInvalidRequest,
        "Only Signature Version 4 (AWS4-HMAC-SHA256) is supported; set your client to it.");
  }
  authorization.remove_prefix(kAlgorithm.size());
  Claim claim;
  bool has_credential = false;
  for (std::string_view field_text : split(authorization, ',')) {
    while (field_text.starts_with(' ')) field_text.remove_prefix(1);
    while (field_text.ends_with(' ')) field_text.remove_suffix(1);
    if (field_text.starts_with("Credential=")) {
      has_credential = parse_credential(field_text.substr(11), claim);
    } else if (field_text.starts_with("SignedHeaders=")) {
      claim.signed_headers = split(field_text.substr(14), ';');
    } else if (field_text.starts_with("Signature=")) {
      claim.signature = field_text.substr(10);
    }
  }
  if (!has_credential || claim.signed_headers.empty() || claim.signature.empty()) {
    return refuse(kAuthorizationHeaderMalformed);
  }
  claim.amz_date = request.header_or("x-amz-date", "");
  return claim;
}

S3Result<Claim> parse_presigned(const Request& request) {
  Claim claim;
  claim.is_presigned = true;
  if (request.parameter("X-Amz-Algorithm") != kAlgorithm ||
      !parse_credential(request.parameter("X-Amz-Credential").value_or(""), claim)) {
    return refuse(kAccessDenied, "The presigned address is not one of AWS4-HMAC-SHA256.");
  }
  claim.amz_date = request.parameter("X-Amz-Date").value_or("");
  claim.signed_headers = split(request.parameter("X-Amz-SignedHeaders").value_or(""), ';');
  claim.signature = request.parameter("X-Amz-Signature").value_or("");
  const std::string life = request.parameter("X-Amz-Expires").value_or("");
  std::int64_t seconds = -1;
  const auto [end, error] = std::from_chars(life.data(), life.data() + life.size(), seconds);
  if (error != std::errc() || end != life.data() + life.size() || seconds < 1 ||
      seconds > kPresignedLifeMax.count()) {
    return refuse(kAccessDenied, "X-Amz-Expires must be 1 to 604800 seconds.");
  }
  claim.life = std::chrono::seconds(seconds);
  return claim;
}

/// YYYYMMDD'T'HHMMSS'Z'.
std::optional<system_clock::time_point> parse_amz_date(const std::string& text) {
  std::tm parts{};
  const char* end =
      text.size() == 16 ? ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &parts) : nullptr;
  if (end == nullptr || *end != '\0') return std::nullopt;
  return system_clock::from_time_t(::timegm(&parts));
}

S3Result<void> check_time(const Claim& claim, system_clock::time_point now) {
  const auto when = parse_amz_date(claim.amz_date);
  if (!when || !claim.amz_date.starts_with(claim.scope.date)) {
    return refuse(kAccessDenied, "The request needs a valid x-amz-date on its credential's day.");
  }
  if (claim.is_presigned) {
    if (now > *when + claim.life) return refuse(kAccessDenied, "Request has expired");
    if (*when > now + kSkewMax) return refuse(kAccessDenied, "Request is not valid yet");
    return {};
  }
  if (now > *when + kSkewMax || *when > now + kSkewMax) return refuse(kRequestTimeTooSkewed);
  return {};
}

// An unsigned header could be added or changed on the way: the host would let a request be replayed
// here, an x-amz- header would change its meaning (x-amz-copy-source makes a PUT a copy). The
// payload's hash is signed in any case.
S3Result<void> check_signed_headers(const Claim& claim, const Request& request) {
  const auto is_signed = [&](const std::string& name) {
    return std::ranges::find(claim.signed_headers, name) != claim.signed_headers.end();
  };
  if (!is_signed("host")) return refuse(kAccessDenied, "The host header must be signed.");
  for (const auto& [name, value] : request.headers) {
    if (!name.starts_with("x-amz-") || name == kPayloadHashHeader || is_signed(name)) continue;
    return refuse(kAccessDenied, fmt::format("The header {} must be signed.", name));
  }
  return {};
}

S3Result<void> check_session(const Key& key, const Request& request, bool is_presigned,
                             system_clock::time_point now) {
  if (key.end && now >= *key.end) return refuse(kExpiredToken);
  const std::string sent = is_presigned
                               ? request.parameter("X-Amz-Security-Token").value_or("")
                               : std::string(request.header_or("x-amz-security-token", ""));
  if (key.session_token.empty() || sent == key.session_token) return {};
  return refuse(kInvalidToken);
}

S3Result<void> check_scope(const Claim& claim, const VerifyRules& rules) {
  if (claim.scope.service != "s3") {
    return refuse(kAuthorizationHeaderMalformed, "The credential's service must be \"s3\".");
  }
  if (!rules.region.empty() && claim.scope.region != rules.region) {
    return refuse(
        kAuthorizationHeaderMalformed,
        fmt::format("The region '{}' is wrong; expecting '{}'", claim.scope.region, rules.region));
  }
  return {};
}

/// The values of a header that was sent several times are one list, as Signature Version 4 has it.
std::string joined_values(const Request& request, std::string_view name) {
  std::string joined;
  bool is_first = true;
  for (const auto& [sent_name, value] : request.headers) {
    if (sent_name != name) continue;
    if (!std::exchange(is_first, false)) joined += ',';
    joined += value;
  }
  return joined;
}

s3::SignedRequest signed_part(const Request& request, const Claim& claim,
                              const std::string& payload_hash) {
  s3::SignedRequest part;
  part.method = request.method;
  // Not as sent: clients differ in what they escape on the wire, but all sign the strict form.
  part.encoded_path = s3::uri_encode(request.path, /*keep_slash=*/true);
  for (const auto& [name, value] : request.query) {
    if (name != "X-Amz-Signature") part.query.emplace_back(name, value);
  }
  for (const std::string& name : claim.signed_headers) {
    part.headers.emplace_back(name, joined_values(request, name));
  }
  part.payload_hash = payload_hash;
  return part;
}

/// The key that the last request on this thread needed is kept: a connection has a thread of its
/// own and nearly always one client, and the four steps of a key take as long as the signature.
s3::SigningKey key_for(const std::string& secret, const s3::SigningScope& scope) {
  struct Last {
    std::string secret;
    std::string scope;
    s3::SigningKey key{};
  };
  thread_local std::optional<Last> last;
  std::string text = scope.to_string();
  if (!last || last->secret != secret || last->scope != text) {
    last = Last{.secret = secret, .scope = std::move(text), .key = s3::signing_key(secret, scope)};
  }
  return last->key;
}

}  // namespace

S3Result<Caller> verify(const Request& request, const VerifyRules& rules,
                        system_clock::time_point now) {
  const auto authorization = request.header("authorization");
  const bool is_presigned = request.has_parameter("X-Amz-Signature");
  Caller caller;
  if (!authorization && request.has_parameter("AWSAccessKeyId")) {
    return refuse(kInvalidRequest,
                  "This address is presigned with Signature Version 2; set your client to s3v4.");
  }
  if (!authorization && !is_presigned) {
    caller.is_anonymous = true;
    caller.payload_hash = request.header_or(kPayloadHashHeader, s3::kUnsignedPayload);
    return caller;
  }
  auto claim =
      authorization ? parse_authorization(request, *authorization) : parse_presigned(request);
  if (!claim) return std::unexpected(std::move(claim.error()));
  const std::optional<Key> found = rules.keys->find(claim->access_key);
  if (!found) return refuse(kInvalidAccessKeyId);
  if (auto good = check_session(*found, request, claim->is_presigned, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto good = check_scope(*claim, rules); !good)
    return std::unexpected(std::move(good.error()));
  if (auto good = check_signed_headers(*claim, request); !good)
    return std::unexpected(std::move(good.error()));
  if (auto good = check_time(*claim, now); !good) return std::unexpected(std::move(good.error()));

  const auto sent_hash = request.header(kPayloadHashHeader);
  if (!sent_hash && !claim->is_presigned) {
    return refuse(kInvalidRequest, "The request needs a header x-amz-content-sha256.");
  }
  caller.payload_hash = sent_hash.value_or(std::string(s3::kUnsignedPayload));
  const s3::SigningKey key = key_for(found->secret, claim->scope);
  const std::string expected = s3::signature(
      key,
      s3::string_to_sign(claim->amz_date, claim->scope,
                         s3::canonical_request(signed_part(request, *claim, caller.payload_hash))));
  if (expected.size() != claim->signature.size() ||
      ::CRYPTO_memcmp(expected.data(), claim->signature.data(), expected.size()) != 0) {
    return refuse(kSignatureDoesNotMatch);
  }
  caller.chunk_signing = {
      .key = key, .scope = claim->scope, .amz_date = claim->amz_date, .seed_signature = expected};
  caller.signed_headers.insert(claim->signed_headers.begin(), claim->signed_headers.end());
  return caller;
}

}  // namespace s3rdmafs::target
