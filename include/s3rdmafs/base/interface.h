// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs {

/// The base of a class that others implement or override: destroyed through a pointer to it, and
/// never copied.
class Interface {
 public:
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;

 protected:
  Interface() = default;
};

}  // namespace s3rdmafs
