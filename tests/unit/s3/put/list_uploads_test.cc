// SPDX-License-Identifier: Apache-2.0
// The client asks which uploads of a key are open, and which of them have parts.
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

class ListUploadsTest : public ObjectWriterTest {
 protected:
  Result<OpenUploads> list() {
    Outcome<Result<OpenUploads>> outcome;
    store().list_uploads("k", soon(), outcome.done());
    return outcome.get();
  }
  Result<bool> has_parts() {
    Outcome<Result<bool>> outcome;
    store().has_parts("k", "up/1", soon(), outcome.done());
    return outcome.get();
  }
  static ScriptedAnswer uploads_page(const std::string& inside) {
    return {.body = "<ListMultipartUploadsResult>" + inside + "</ListMultipartUploadsResult>"};
  }
  static std::string begun(const std::string& key, const std::string& id) {
    return "<Upload><Key>" + key + "</Key><UploadId>" + id +
           "</UploadId><Initiated>2009-10-12T17:50:30Z</Initiated></Upload>";
  }
  static std::string more(const std::string& key, const std::string& id) {
    return "<IsTruncated>true</IsTruncated><NextKeyMarker>" + key +
           "</NextKeyMarker><NextUploadIdMarker>" + id + "</NextUploadIdMarker>";
  }
};

TEST_F(ListUploadsTest, AsksByTheKeyAndTakesExactlyItsUploads) {
  server_.then(uploads_page(begun("k", "a") + more("k", "a")));
  server_.then(uploads_page(begun("k", "b") + begun("k/longer", "c") + more("k/longer", "c")));
  const Result<OpenUploads> found = list();
  ASSERT_TRUE(found) << found.error().detail;
  ASSERT_EQ(found->uploads.size(), 2U);
  EXPECT_EQ(found->uploads[0].id, "a");
  EXPECT_EQ(found->uploads[1].id, "b");
  EXPECT_TRUE(found->server_time.has_value()) << "from the answer's Date";
  const std::string first = "GET /train/?uploads&encoding-type=url&max-uploads=1000&prefix=k";
  EXPECT_THAT(summaries(), ElementsAre(first, first + "&key-marker=k&upload-id-marker=a"));
}

TEST_F(ListUploadsTest, EndsWhereMarkersReturn) {
  server_.then(uploads_page(begun("k", "a") + more("k", "a")));
  ASSERT_TRUE(list());
  EXPECT_EQ(server_.seen().size(), 10U);
}

TEST_F(ListUploadsTest, ReportsThatTheServerDoesNotListUploads) {
  server_.then(error_answer(501, "NotImplemented"));
  EXPECT_EQ(list().error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(ListUploadsTest, TellsWhetherAnUploadHasParts) {
  server_.then({.body = "<ListPartsResult><Part/></ListPartsResult>"});
  server_.then({.body = "<ListPartsResult/>"});
  server_.then(error_answer(404, "NoSuchUpload"));
  EXPECT_TRUE(has_parts().value());
  EXPECT_FALSE(has_parts().value());
  EXPECT_EQ(has_parts().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(summaries().at(0), "GET /train/k?max-parts=1&uploadId=up%2F1");
}

}  // namespace
}  // namespace s3rdmafs::s3
