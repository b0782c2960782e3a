// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of libibverbs and libmlx5 that this project calls, one row each for a macro
// FORWARD(result, name, parameters, arguments). A call of one that has no row fails to link. The
// signatures are those of infiniband/verbs.h and infiniband/mlx5dv.h; several are reached by inline
// functions and macros there.

// clang-format off
#define S3RDMAFS_VERBS(FORWARD) \
  FORWARD(ibv_device**, ibv_get_device_list, (int* count), (count)) \
  FORWARD(int, _ibv_query_gid_ex, \
          (ibv_context* context, std::uint32_t port, std::uint32_t index, \
           ibv_gid_entry* entry, std::uint32_t flags, std::size_t size), \
          (context, port, index, entry, flags, size)) \
  FORWARD(void, ibv_ack_async_event, (ibv_async_event* event), (event)) \
  FORWARD(void, ibv_ack_cq_events, (ibv_cq* queue, unsigned count), (queue, count)) \
  FORWARD(ibv_pd*, ibv_alloc_pd, (ibv_context* context), (context)) \
  FORWARD(int, ibv_close_device, (ibv_context* context), (context)) \
  FORWARD(ibv_comp_channel*, ibv_create_comp_channel, (ibv_context* context), (context)) \
  FORWARD(ibv_cq*, ibv_create_cq, \
          (ibv_context* context, int entries, void* user, ibv_comp_channel* channel, \
           int vector), \
          (context, entries, user, channel, vector)) \
  FORWARD(ibv_qp*, ibv_create_qp, \
          (ibv_pd* domain, ibv_qp_init_attr* attributes), \
          (domain, attributes)) \
  FORWARD(ibv_srq*, ibv_create_srq, \
          (ibv_pd* domain, ibv_srq_init_attr* attributes), \
          (domain, attributes)) \
  FORWARD(int, ibv_dealloc_pd, (ibv_pd* domain), (domain)) \
  FORWARD(int, ibv_dereg_mr, (ibv_mr* region), (region)) \
  FORWARD(int, ibv_destroy_comp_channel, (ibv_comp_channel* channel), (channel)) \
  FORWARD(int, ibv_destroy_cq, (ibv_cq* queue), (queue)) \
  FORWARD(int, ibv_destroy_qp, (ibv_qp* pair), (pair)) \
  FORWARD(int, ibv_destroy_srq, (ibv_srq* queue), (queue)) \
  FORWARD(const char*, ibv_event_type_str, (ibv_event_type type), (type)) \
  FORWARD(void, ibv_free_device_list, (ibv_device** list), (list)) \
  FORWARD(int, ibv_get_async_event, \
          (ibv_context* context, ibv_async_event* event), \
          (context, event)) \
  FORWARD(int, ibv_get_cq_event, \
          (ibv_comp_channel* channel, ibv_cq** queue, void** user), \
          (channel, queue, user)) \
  FORWARD(const char*, ibv_get_device_name, (ibv_device* device), (device)) \
  FORWARD(int, ibv_modify_qp, \
          (ibv_qp* pair, ibv_qp_attr* attributes, int mask), \
          (pair, attributes, mask)) \
  FORWARD(ibv_context*, ibv_open_device, (ibv_device* device), (device)) \
  FORWARD(const char*, ibv_port_state_str, (ibv_port_state state), (state)) \
  FORWARD(int, ibv_query_device, \
          (ibv_context* context, ibv_device_attr* attributes), \
          (context, attributes)) \
  FORWARD(int, ibv_query_gid, \
          (ibv_context* context, std::uint8_t port, int index, ibv_gid* gid), \
          (context, port, index, gid)) \
  FORWARD(int, ibv_query_port, \
          (ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes), \
          (context, port, attributes)) \
  FORWARD(ibv_mr*, ibv_reg_mr, \
          (ibv_pd* domain, void* address, std::size_t length, int access), \
          (domain, address, length, access)) \
  FORWARD(ibv_mr*, ibv_reg_mr_iova, \
          (ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, int access), \
          (domain, address, length, iova, access)) \
  FORWARD(ibv_mr*, ibv_reg_mr_iova2, \
          (ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, \
           unsigned access), \
          (domain, address, length, iova, access)) \
  FORWARD(const char*, ibv_wc_status_str, (ibv_wc_status status), (status))

#define S3RDMAFS_MLX5_VERBS(FORWARD) \
  FORWARD(bool, mlx5dv_is_supported, (ibv_device* device), (device)) \
  FORWARD(ibv_qp*, mlx5dv_create_qp, \
          (ibv_context* context, ibv_qp_init_attr_ex* attributes, mlx5dv_qp_init_attr* mlx5), \
          (context, attributes, mlx5))
// clang-format on
