// SPDX-License-Identifier: Apache-2.0
//
// The functions of libibverbs, each handed on to the library that was opened at run time. Why not
// linked: one program then starts on nodes with RDMA and without, and uses the library of whichever
// driver package the site has installed.
//
// A library that is missing shows in ibv_get_device_list() alone, since every other call needs a
// device of that one: it returns nullptr with ELIBACC, and loaded_library.h has the cause. Cost: an
// indirect call, and only for verbs that no transfer waits for (posting and polling are inline
// functions over a table of the context). A test that brings functions of the same names stands in
// for the library: the linker takes this file out of its archive only where a name is missing.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "rdma/loader/forward.h"
#include "rdma/loader/functions.h"

// Macros of infiniband/verbs.h over functions of the same names.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

extern "C" {

#define FORWARD(result, name, parameters, arguments) \
  S3RDMAFS_FORWARD(verbs_library, result, name, parameters, arguments)
S3RDMAFS_VERBS(FORWARD)
#undef FORWARD

}  // extern "C"
