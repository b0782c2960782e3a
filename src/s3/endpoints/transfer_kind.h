// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::s3 {

/// The operations that move an object's bytes. A server may do one by RDMA and not another:
/// versitygw does not do UploadPart (s3rdmafs-protocol(7)).
enum class TransferKind { kGet, kPut, kUploadPart };

}  // namespace s3rdmafs::s3
