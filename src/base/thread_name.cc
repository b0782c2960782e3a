// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/thread_name.h"

#include <pthread.h>

namespace s3rdmafs {

void set_thread_name(std::string_view name) noexcept {
  constexpr std::size_t kNameMax = 15;  // pthread_setname_np(3)
  char buffer[kNameMax + 1] = {};
  name.copy(buffer, kNameMax);
  ::pthread_setname_np(::pthread_self(), buffer);
}

}  // namespace s3rdmafs
