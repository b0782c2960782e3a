// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/xml/xml_reader.h"

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

std::string page(const std::string& inside) {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)" +
         inside + "</ListBucketResult>";
}

std::string contents(const std::string& key, const std::string& size = "7",
                     const std::string& etag = "&quot;abc&quot;",
                     const std::string& modified = "2009-10-12T17:50:30.000Z") {
  return "<Contents><Key>" + key + "</Key><LastModified>" + modified + "</LastModified><ETag>" +
         etag + "</ETag><Size>" + size + "</Size></Contents>";
}

TEST(ParseListPage, ReadsObjectsPrefixesAndTheWayOn) {
  const Result<ListPage> result = parse_list_page(page(
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t+/=</NextContinuationToken>" +
      contents("a%20b/c%2Bd%C3%BC") + "<CommonPrefixes><Prefix>x+y%2F</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(result) << result.error().detail;
  ASSERT_EQ(result->objects.size(), 1U);
  const ObjectInfo& object = result->objects[0];
  EXPECT_EQ(object.key, "a b/c+d\xC3\xBC");
  EXPECT_EQ(object.etag, "\"abc\"");
  EXPECT_EQ(object.size_bytes, 7U);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(object.modified), 1255369830);
  EXPECT_EQ(result->common_prefixes, std::vector<std::string>{"x y/"});
  EXPECT_EQ(result->next_token, "t+/=") << "tokens are opaque: never decoded";
}

TEST(ParseListPage, DecodesNothingIfTheServerDidNotEncode) {
  const Result<ListPage> result = parse_list_page(page(contents("a%20b+c")));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->objects.at(0).key, "a%20b+c");
}

TEST(ParseListPage, TakesAnEmptyBucket) {
  const Result<ListPage> result = parse_list_page(page("<IsTruncated>false</IsTruncated>"));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->objects.empty());
  EXPECT_TRUE(result->next_token.empty());
}

TEST(ParseListPage, RefusesWhatIsNotAListing) {
  const std::string bad[] = {
      "",
      "not xml",
      "<html><body>hello</body></html>",
      "<ListBucketResult><Contents>",
      page(contents("")),
      page(contents("a", "")),
      page(contents("a", "7x")),
      page(contents("a", "-1")),
      page("<EncodingType>url</EncodingType>" + contents("a%2")),
      page("<Contents><Key>a</Key><Size>1</Size></Contents>"),
      page("<IsTruncated>true</IsTruncated>"),
      page("<CommonPrefixes></CommonPrefixes>"),
  };
  for (const std::string& text : bad) {
    const Result<ListPage> result = parse_list_page(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kProtocol) << text;
  }
}

// An ETag goes back to the server in If-Match.
constexpr const char* kInjected = "&#34;a&#34;&#13;&#10;X-Injected: yes";

TEST(ParseListPage, RefusesAnEtagThatWouldBeginAnotherHeader) {
  for (const std::string& etag : {std::string(kInjected), std::string("&#27;"),
                                  std::string("&#127;"), std::string(1025, 'e')}) {
    const Result<ListPage> result = parse_list_page(page(contents("a", "7", etag)));
    ASSERT_FALSE(result) << etag;
    EXPECT_EQ(result.error().code, ErrorCode::kProtocol);
  }
  EXPECT_TRUE(parse_list_page(page(contents("a", "7", std::string(1024, 'e'))))) << "the control";
}

TEST(ParseListPage, TakesTheNearestTimeForOneThatNoClockHolds) {
  const auto year_of = [](const std::string& modified) {
    const Result<ListPage> result =
        parse_list_page(page(contents("a", "7", "e", modified + "-06-01T00:00:00Z")));
    const std::time_t seconds =
        std::chrono::system_clock::to_time_t(result.value().objects.at(0).modified);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    return parts.tm_year + 1900;
  };
  EXPECT_EQ(year_of("2263"), 2262);
  EXPECT_EQ(year_of("9999"), 2262);
  EXPECT_EQ(year_of("1600"), 1677);
  EXPECT_EQ(year_of("0001"), 1677);
  EXPECT_EQ(year_of("2261"), 2261) << "the control";
  EXPECT_EQ(year_of("1678"), 1678);
}

TEST(ParseListPage, TakesANameThatIsThereTwiceOnce) {
  const Result<ListPage> result = parse_list_page(
      page(contents("b", "1") + contents("a", "2") + contents("b", "3") + contents("b", "4") +
           "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"
           "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>"));
  ASSERT_TRUE(result);
  ASSERT_EQ(result->objects.size(), 2U);
  EXPECT_EQ(result->objects[0].key, "b");
  EXPECT_EQ(result->objects[0].size_bytes, 1U) << "the first one";
  EXPECT_EQ(result->objects[1].key, "a");
  EXPECT_EQ(result->common_prefixes, std::vector<std::string>{"p/"});
}

TEST(ParseCompletedEtag, RefusesAnEtagThatWouldBeginAnotherHeader) {
  const auto completed = [](const std::string& etag) {
    return parse_completed_etag("<CompleteMultipartUploadResult><ETag>" + etag +
                                "</ETag></CompleteMultipartUploadResult>");
  };
  EXPECT_EQ(completed(kInjected).error().code, ErrorCode::kProtocol);
  EXPECT_EQ(completed(std::string(1025, 'e')).error().code, ErrorCode::kProtocol);
  EXPECT_EQ(completed("&quot;abc-2&quot;").value(), "\"abc-2\"");
}

std::string uploads_page(const std::string& inside) {
  return "<ListMultipartUploadsResult>" + inside + "</ListMultipartUploadsResult>";
}

std::string open_upload(const std::string& key, const std::string& id,
                        const std::string& initiated = "2009-10-12T17:50:30.000Z") {
  return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId><Initiated>" + initiated +
         "</Initiated></Upload>";
}

TEST(ParseUploadsPage, ReadsUploadsAndTheWayOn) {
  const Result<UploadsPage> page = parse_uploads_page(uploads_page(
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextKeyMarker>b%20c</NextKeyMarker><NextUploadIdMarker>2+</NextUploadIdMarker>" +
      open_upload("a%2B", "1") + open_upload("b+c", "2+")));
  ASSERT_TRUE(page) << page.error().detail;
  ASSERT_EQ(page->uploads.size(), 2U);
  EXPECT_EQ(page->uploads[0].key, "a+");
  EXPECT_EQ(page->uploads[1].key, "b c");
  EXPECT_EQ(page->uploads[1].id, "2+") << "ids are opaque";
  EXPECT_EQ(std::chrono::system_clock::to_time_t(page->uploads[0].initiated), 1255369830);
  EXPECT_EQ(page->next_key, "b c");
  EXPECT_EQ(page->next_id, "2+");
}

TEST(ParseUploadsPage, LeavesOutUploadsThatItCannotRead) {
  const Result<UploadsPage> page =
      parse_uploads_page(uploads_page(open_upload("", "1") + open_upload("a", "") +
                                      open_upload("a", "2", "today") + open_upload("a", "3")));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->uploads.size(), 1U);
  EXPECT_EQ(page->uploads[0].id, "3");
  EXPECT_TRUE(parse_uploads_page(uploads_page(""))->uploads.empty());
}

TEST(ParseUploadsPage, RefusesWhatIsNotAListOfUploads) {
  for (const std::string text : {"", "text", "<html/>", "<ListMultipartUploadsResult>"}) {
    EXPECT_EQ(parse_uploads_page(text).error().code, ErrorCode::kProtocol) << text;
    EXPECT_EQ(parse_has_parts(text).error().code, ErrorCode::kProtocol) << text;
  }
}

TEST(ParseHasParts, TellsAPartFromNone) {
  EXPECT_EQ(parse_has_parts("<ListPartsResult><Part><PartNumber>1</PartNumber></Part>"
                            "</ListPartsResult>"),
            true);
  EXPECT_EQ(parse_has_parts("<ListPartsResult><MaxParts>1</MaxParts></ListPartsResult>"), false);
}

TEST(ParseError, ReadsCodeAndMessageAndBearsAnythingElse) {
  const S3Error error =
      parse_error("<Error><Code>NoSuchKey</Code><Message>gone &amp; lost</Message></Error>");
  EXPECT_EQ(error.code, "NoSuchKey");
  EXPECT_EQ(error.message, "gone & lost");
  for (const char* text : {"", "<html/>", "<Error>", "\xFF\xFE"}) {
    EXPECT_EQ(parse_error(text).code, "") << text;
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
