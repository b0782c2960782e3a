// SPDX-License-Identifier: Apache-2.0
// The keys of [rdma].
#include "config/keys/keys.h"
#include "config/text_checks.h"
#include "s3rdmafs/base/transfer_sizes.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

constexpr Names<RdmaMode> kRdmaModes[] = {
    {"prefer", RdmaMode::kPrefer}, {"require", RdmaMode::kRequire}, {"off", RdmaMode::kOff}};
constexpr Names<ByteCount> kByteCounts[] = {{"require", ByteCount::kRequire},
                                            {"optional", ByteCount::kOptional}};
constexpr Names<Verify> kVerifies[] = {
    {"off", Verify::kOff}, {"sample", Verify::kSample}, {"always", Verify::kAlways}};
constexpr Names<FabricChoice> kFabrics[] = {{"auto", FabricChoice::kAuto},
                                            {"shm", FabricChoice::kShm},
                                            {"rc", FabricChoice::kRc},
                                            {"dc", FabricChoice::kDc}};
constexpr Names<DcTokenForm> kTokenForms[] = {
    {"81", DcTokenForm::k81}, {"115", DcTokenForm::k115}, {"base64", DcTokenForm::kBase64}};

std::string verify_nothing(const Environment&) { return "off"; }

constexpr Key kRdmaKeys[] = {
    // The promise of README.md: where RDMA cannot serve, the mount goes on over HTTP and says so.
    {"rdma", "mode",
     Choice<RdmaMode>{[](MountConfig& c) -> auto& { return c.rdma.mode; }, kRdmaModes},
     Default{"prefer"}, "Whether bulk bytes should, must or must not go by RDMA token."},
    {"rdma", "fabric",
     Choice<FabricChoice>{[](MountConfig& c) -> auto& { return c.rdma.fabric; }, kFabrics},
     Default{"auto"}, "The fabric that makes the tokens; \"auto\" takes one that works here."},
    // Below about this size the token's headers and registration cost what they save. Above a slab
    // no transfer could reach it: that would be rdma.mode = "off" in disguise.
    {"rdma", "threshold",
     SizeOrAuto{[](MountConfig& c) -> auto& { return c.rdma.threshold_bytes; }, 0, kSlabBytes},
     Default{"auto"}, "Smaller transfers go by HTTP; 0: all by RDMA; \"auto\": measured."},

    // The names that most servers have; Dell's is x-rdma-info, Scality's x-scal-rdma.
    {"rdma", "token_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.token_header; }, check_header_name},
     Default{"x-amz-rdma-token"}, "The request header that carries the token."},
    {"rdma", "reply_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.reply_header; }, check_header_name},
     Default{"x-amz-rdma-reply"},
     "The answer's header that tells how the transfer by token ended."},
    {"rdma", "bytes_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.bytes_header; }, check_header_name},
     Default{"x-amz-rdma-bytes-transferred"}, "The answer's header with the count of bytes."},
    // Without the count a read that the server cut short cannot be told from a whole one.
    {"rdma", "byte_count",
     Choice<ByteCount>{[](MountConfig& c) -> auto& { return c.rdma.byte_count; }, kByteCounts},
     Default{"require"}, "Whether a read by RDMA is good only with a count of its bytes."},
    // Less than half of retry.deadline, so that a read whose transfer is stuck has time for a
    // second attempt; 1 GiB, the longest transfer, takes a tenth of it at 10 Gb/s.
    {"rdma", "transfer_timeout",
     Duration{[](MountConfig& c) -> auto& { return c.rdma.transfer_timeout; }, kTimeoutMin,
              kTimeoutMax},
     Default{"10s"}, "How long one attempt with a token may take."},
    // It doubles what the server sends; s3rdmafs doctor compares bytes once. The dc fabric gets no
    // completion for what a server writes, so there some of it is compared; load.cc says so.
    {"rdma", "verify",
     Choice<Verify>{[](MountConfig& c) -> auto& { return c.rdma.verify; }, kVerifies},
     Default{"off, or sample with the dc fabric", verify_nothing},
     "Which transfers by RDMA are compared with the server's object."},

    {"rdma", "shm_socket",
     Text{[](MountConfig& c) -> auto& { return c.rdma.shm_socket; }, check_socket}, Default{"auto"},
     "The server's socket for the shm fabric; \"auto\" derives it from the endpoint."},

    // The default of every server's library (s3rdmafs-protocol(7)). A key and a token together open
    // the cache's memory, so any other key is a secret.
    {"rdma", "dc_key", HexKey{[](MountConfig& c) -> auto& { return c.rdma.dc_key; }},
     Default{"0xffeeddcc"}, "Access key of the dc fabric; the servers must have the same.", true},
    // The only form that all present servers take.
    {"rdma", "token_form",
     Choice<DcTokenForm>{[](MountConfig& c) -> auto& { return c.rdma.token_form; }, kTokenForms},
     Default{"81"},
     "How the dc fabric writes its tokens; \"115\" and \"base64\" for older servers."},
    // Every active port of every ConnectX: a node with several is built to use them together.
    {"rdma", "rails", Text{[](MountConfig& c) -> auto& { return c.rdma.rails; }, check_rails},
     Default{"auto"}, "RDMA ports to use: dc takes all of them, rc the first; \"auto\" chooses."},
    // The kernel's table has an entry for each address and RoCE version; the route tells which.
    {"rdma", "gid_index",
     Text{[](MountConfig& c) -> auto& { return c.rdma.gid_index; }, check_gid_index},
     Default{"auto"},
     "Entry of the port's GID table to use; \"auto\" chooses, \"none\": on InfiniBand the LID "
     "alone."},
    // Unmarked packets are the safe choice on a network of which nothing is known.
    // A lossless RoCE network has a class of its own (cuObject's servers mark theirs with 96).
    {"rdma", "traffic_class",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.traffic_class; }, 0, 255}, Default{"0"},
     "Traffic class of the packets that our NIC sends: DSCP times 4, and ECN."},
    {"rdma", "service_level",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.service_level; }, 0, 15}, Default{"0"},
     "Service level of the packets that our NIC sends; on RoCE the priority, up to 7."},
    // As many as http.connections_max, since each request in flight needs one. Servers of this
    // dialect have 1024 for all their clients (s3rdmafs-protocol(7)).
    {"rdma", "sessions_max",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.sessions_max; }, 1, 1024}, Default{"64"},
     "Most sessions of the rc fabric, one for each transfer under way."},
    // A server with a port on each network answers by the one that it was asked over.
    {"rdma", "bind_source", Boolean{[](MountConfig& c) -> auto& { return c.rdma.bind_source; }},
     Default{"true"},
     "Whether a request is sent from the address of the rail that its token names."},
};

}  // namespace

std::span<const Key> rdma_keys() noexcept { return kRdmaKeys; }

}  // namespace s3rdmafs::config
