// SPDX-License-Identifier: Apache-2.0
// Owners of libcurl's objects.
#pragma once

#include <memory>

#include <curl/curl.h>

namespace s3rdmafs::net {

struct CurlEasyCleanup {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
struct CurlListCleanup {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

using CurlEasy = std::unique_ptr<CURL, CurlEasyCleanup>;
using CurlList = std::unique_ptr<curl_slist, CurlListCleanup>;

}  // namespace s3rdmafs::net
