// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/xml/xml_writer.h"

#include <sstream>

#include <pugixml.hpp>

#include "s3/wire/object_checksum.h"

namespace s3rdmafs::s3 {

std::string complete_upload_document(const std::vector<UploadedPart>& parts, bool with_checksums) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  for (const UploadedPart& part : parts) {
    pugi::xml_node node = root.append_child("Part");
    node.append_child("PartNumber").text() = part.number;
    node.append_child("ETag").text() = part.etag.c_str();
    if (with_checksums && part.crc64nvme != 0) {
      node.append_child("ChecksumCRC64NVME").text() = checksum_text(part.crc64nvme).c_str();
    }
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw);
  return text.str();
}

}  // namespace s3rdmafs::s3
