// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/exchange.h"
#include "s3/object_writer.h"
#include "s3/wire/xml/xml_reader.h"

namespace s3rdmafs::s3 {

/// ListMultipartUploads of one key, page by page. The key itself is the prefix, as some servers
/// list uploads by exact key only; longer keys sort after it, so its own uploads come first.
class ListUploadsExchange final : public Exchange {
 public:
  ListUploadsExchange(std::string key, Done<OpenUploads> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Next on_page(UploadsPage page);

  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  const std::string key_;
  Done<OpenUploads> done_;
  std::string id_marker_;  // the last upload so far; empty: the first page
  int pages_ = 0;
  OpenUploads found_;
  Result<void> outcome_;
};

}  // namespace s3rdmafs::s3
