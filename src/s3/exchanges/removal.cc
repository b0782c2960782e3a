// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/removal.h"

namespace s3rdmafs::s3 {

std::unique_ptr<Exchange> make_removal(Removal removal, Done<void> done) {
  return std::make_unique<QueryExchange<void>>(
      QueryExchange<void>::Query{.method = HttpMethod::kDelete,
                                 .verb = removal.verb,
                                 .key = removal.key,
                                 .subject = removal.key,
                                 .parameters = std::move(removal.parameters),
                                 .text_bytes_max = kErrorTextBytesMax,
                                 .headers = std::move(removal.headers),
                                 .is_gone_fine = true},
      [](const HttpResponse&) -> Result<void> { return {}; }, std::move(done));
}

}  // namespace s3rdmafs::s3
