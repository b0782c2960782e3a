// SPDX-License-Identifier: Apache-2.0
// The keys of [bucket], [endpoint], [credentials] and [encryption].
#include "config/keys/keys.h"
#include "config/text_checks.h"

namespace s3rdmafs::config {
namespace {

constexpr Names<AddressingStyle> kAddressingStyles[] = {
    {"path", AddressingStyle::kPath}, {"virtual-host", AddressingStyle::kVirtualHost}};
constexpr Names<net::TlsVersion> kTlsVersions[] = {{"1.2", net::TlsVersion::k12},
                                                   {"1.3", net::TlsVersion::k13}};
constexpr Names<Encryption> kEncryptions[] = {{"bucket", Encryption::kBucket},
                                              {"sse-s3", Encryption::kSseS3},
                                              {"sse-kms", Encryption::kSseKms},
                                              {"sse-c", Encryption::kSseC}};

constexpr Key kStoreKeys[] = {
    {"bucket",
     "name",
     Text{[](MountConfig& c) -> auto& { return c.bucket.name; }, check_bucket_name},
     {},
     "The bucket to mount."},
    // Empty: most mounts are of a whole bucket.
    {"bucket", "prefix",
     Text{[](MountConfig& c) -> auto& { return c.bucket.prefix; }, check_prefix}, Default{""},
     "Only keys that begin with this show, without it; a missing last \"/\" is added."},
    {"bucket", "requester_pays",
     Boolean{[](MountConfig& c) -> auto& { return c.bucket.requester_pays; }}, Default{"false"},
     "Whether each request agrees to pay, as some buckets of other owners ask for."},
    {"bucket", "expected_owner",
     Text{[](MountConfig& c) -> auto& { return c.bucket.expected_owner; }, check_account},
     Default{""}, "Account that the bucket must belong to; empty: any."},

    {"endpoint", "url",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.url; }, check_optional_endpoint_url},
     Default{""}, "The S3 server: scheme, host and optional port."},
    // load.cc sees to it that one of the two is set. 256 storage servers are more than one client
    // has a use for, so that many is a typing error.
    {"endpoint", "urls",
     TextList{[](MountConfig& c) -> auto& { return c.endpoint.urls; }, check_endpoint_url, 256},
     Default{""}, "Instead of url: several servers of the same store, which share the requests."},
    // On: at most one read in fifty is asked for again (s3/endpoints/hedge_policy.h).
    {"endpoint", "hedge", Boolean{[](MountConfig& c) -> auto& { return c.endpoint.hedge; }},
     Default{"true"}, "Whether a read that one of several servers is slow with goes to another."},
    // Servers other than Amazon's take this one if they take only one.
    {"endpoint", "region",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.region; }, check_region},
     Default{"us-east-1"}, "The region that requests are signed for."},
    // Works without wildcard names in the DNS, which on-premises servers seldom have.
    {"endpoint", "addressing",
     Choice<AddressingStyle>{[](MountConfig& c) -> auto& { return c.endpoint.addressing; },
                             kAddressingStyles},
     Default{"path"}, "Whether the bucket's name goes into the path or in front of the host."},
    {"endpoint", "ca_file",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.connection.ca_file; }, check_path},
     Default{""}, "PEM file with the certificates to trust; empty: the system's."},
    {"endpoint", "client_certificate",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.connection.client_certificate; },
          check_path},
     Default{""}, "PEM file with the certificate that this client shows; empty: none."},
    {"endpoint", "client_key",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.connection.client_key; }, check_path},
     Default{""}, "PEM file with its private key; empty: client_certificate has it."},
    // Older versions are broken, and no maintained server needs them (RFC 8996).
    {"endpoint", "tls_min",
     Choice<net::TlsVersion>{[](MountConfig& c) -> auto& { return c.endpoint.connection.tls_min; },
                             kTlsVersions},
     Default{"1.2"}, "The oldest version of TLS that is spoken."},
    {"endpoint", "proxy",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.connection.proxy; }, check_proxy},
     Default{"auto"}, "HTTP proxy; \"auto\": the environment's, \"none\": none."},

    {"credentials", "anonymous",
     Boolean{[](MountConfig& c) -> auto& { return c.credentials.anonymous; }}, Default{"false"},
     "Send unsigned requests, for buckets that anyone may read."},
    {"credentials", "access_key_id",
     Text{[](MountConfig& c) -> auto& { return c.credentials.access_key_id; }, check_header_text},
     Default{""}, "Access key; needs secret_access_key beside it."},
    {"credentials", "secret_access_key",
     Text{[](MountConfig& c) -> auto& { return c.credentials.secret_access_key; },
          check_header_text},
     Default{""}, "Secret key; keep the file readable by its owner only.", true},
    {"credentials", "session_token",
     Text{[](MountConfig& c) -> auto& { return c.credentials.session_token; }, check_header_text},
     Default{""}, "Token of temporary credentials.", true},
    {"credentials", "file",
     Text{[](MountConfig& c) -> auto& { return c.credentials.file; }, check_path}, Default{""},
     "AWS shared credentials file to read the keys from."},
    // Empty rather than "default", so that AWS_PROFILE has its say where no file is named.
    {"credentials", "profile",
     Text{[](MountConfig& c) -> auto& { return c.credentials.profile; }, any_text}, Default{""},
     "Section of the credentials file; empty: AWS_PROFILE, else \"default\"."},
    {"credentials", "sts_url",
     Text{[](MountConfig& c) -> auto& { return c.credentials.sts_url; },
          check_optional_endpoint_url},
     Default{""}, "Server that is asked for the keys of a role; empty: Amazon's."},

    // A bucket's own default is set where it is managed, for all its clients.
    {"encryption", "mode",
     Choice<Encryption>{[](MountConfig& c) -> auto& { return c.encryption.mode; }, kEncryptions},
     Default{"bucket"}, "How the server encrypts what is stored: as the bucket says, or so."},
    {"encryption", "kms_key",
     Text{[](MountConfig& c) -> auto& { return c.encryption.kms_key; }, check_header_text},
     Default{""}, "Key of the server's key service, for mode sse-kms; empty: its default."},
    {"encryption", "customer_key",
     Text{[](MountConfig& c) -> auto& { return c.encryption.customer_key; }, check_customer_key},
     Default{""}, "Own key for mode sse-c: 32 bytes in base64.", true},
};

}  // namespace

std::span<const Key> store_keys() noexcept { return kStoreKeys; }

}  // namespace s3rdmafs::config
