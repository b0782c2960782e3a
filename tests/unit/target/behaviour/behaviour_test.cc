// SPDX-License-Identifier: Apache-2.0
// Each line of s3rdmafs-protocol(7), as a client sees it.
#include "target/behaviour/behaviour.h"

#include "rdma/rdma_requests.h"

namespace s3rdmafs::target {
namespace {

// Of a ConnectX, well-formed: nothing here can serve it.
const std::string kNicToken =
    "0102030405060708:01020304:01020304:0102:010203:1:0102030405060708090a0b0c0d0e0f10";
const std::string kOldAistorToken = kNicToken + ":0102030405060708:0000000001020304";

class BehaviourTest : public RdmaTargetTest {
 protected:
  BehaviourTest() { service_.windows[kToken] = "0123456789"; }

  // What a client learns from a GET of a range by RDMA.
  struct Ranged {
    int status;
    std::string reply, count;
    auto operator<=>(const Ranged&) const = default;
  };
  Ranged get_range() {
    const Response response = get(kToken, {{"range", "bytes=2-5"}});
    EXPECT_EQ(response.body_bytes(), 0U);
    EXPECT_EQ(service_.windows[kToken].substr(0, 4), "2345");
    return {response.status, reply(response), count(response)};
  }
};

TEST_F(BehaviourTest, EachNameIsKnownOnceAndTheFirstIsTheSpecification) {
  EXPECT_EQ(behaviours().front().name, "spec");
  EXPECT_EQ(behaviour_names(),
            "spec, aistor, noobaa, versitygw, ecs, cloudian, scality, rocm-ernic, ceph-osd-direct, "
            "weak-etags, no-delimiter, repeated-tokens, plain");
  for (const Behaviour& behaviour : behaviours()) {
    EXPECT_EQ(find_behaviour(behaviour.name)->name, behaviour.name);
  }
  EXPECT_FALSE(find_behaviour("minio"));
}

// --- spec ---

TEST_F(BehaviourTest, SpecAnswersARangeWith206AndReply206) {
  behave_as("spec");
  EXPECT_EQ(get_range(), (Ranged{206, "206", "4"}));
}

TEST_F(BehaviourTest, SpecDeclinesWithReply501AndTheObjectInTheBody) {
  behave_as("spec");
  const Response got = get(kNicToken);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(reply(got), "501");
  EXPECT_EQ(body(got), "0123456789");
  const Response stored = put(kNicToken);
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(reply(stored), "501");
  EXPECT_FALSE(is_stored());
}

TEST_F(BehaviourTest, SpecTakesParts) {
  behave_as("spec");
  const Response stored = request("PUT", part_address(), kToken);
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(reply(stored), "200");
}

TEST_F(BehaviourTest, SpecNamesAFailedTransfer) {
  behave_as("spec");
  service_.fail_transfers = true;
  EXPECT_EQ(code(get(kToken)), "RDMATransferFailed");
  EXPECT_EQ(reply(get(kToken)), "");
}

// --- MinIO AIStor ---

TEST_F(BehaviourTest, AistorAnswersARangeAndAPartNumberWithReply206) {
  behave_as("aistor");
  EXPECT_EQ(get_range(), (Ranged{206, "206", "4"}));
  const Response part = request("GET", "/bucket/key?partNumber=1", kToken);
  EXPECT_EQ(reply(part), "206");
  EXPECT_EQ(service_.windows[kToken], "0123456789");
}

TEST_F(BehaviourTest, AistorDeclinesWithReply501AndAnErrorInsteadOfTheObject) {
  behave_as("aistor");
  const Response got = get(kNicToken);
  EXPECT_EQ(got.status, 501);
  EXPECT_EQ(reply(got), "501");
  EXPECT_EQ(code(got), "NotImplemented");
}

TEST_F(BehaviourTest, AistorTakesExactly81Characters) {
  behave_as("aistor");
  const Response refused = get(kOldAistorToken);
  EXPECT_EQ(refused.status, 500);
  EXPECT_NE(body(refused).find("115 characters, expected exactly 81"), std::string::npos);
  EXPECT_EQ(reply(get(kNicToken)), "501") << "control: the length is right, the NIC is missing";
}

TEST_F(BehaviourTest, AistorWantsAChecksumOfEachPartWhereTheUploadHasOne) {
  behave_as("aistor");
  service_.windows[kToken] = "123456789";
  const std::string with = part_address({{"x-amz-checksum-algorithm", "CRC32C"}});
  EXPECT_EQ(request("PUT", with, kToken).status, 501);
  EXPECT_EQ(request("PUT", with, kToken, {{"x-amz-checksum-crc32c", "4waSgw=="}}).status, 200);
  EXPECT_EQ(request("PUT", part_address(), kToken).status, 200) << "control: no algorithm, no need";
}

TEST_F(BehaviourTest, AistorGivesNoByteCountForAPut) {
  behave_as("aistor");
  const Response stored = put(kToken);
  EXPECT_EQ(reply(stored), "200");
  EXPECT_EQ(count(stored), "");
}

TEST_F(BehaviourTest, AistorListsUploadsOfOneKeyOnlyAndTakesThePrefixForTheKey) {
  (void)part_address();
  const auto uploads = [this](const std::string& prefix) {
    return body(send({.method = "GET", .target = "/bucket?uploads=&prefix=" + prefix}));
  };
  EXPECT_NE(uploads("ne").find("<Upload>"), std::string::npos) << "control: S3 goes by the prefix";
  behave_as("aistor");
  EXPECT_EQ(uploads("ne").find("<Upload>"), std::string::npos);
  EXPECT_EQ(uploads("").find("<Upload>"), std::string::npos);
  EXPECT_NE(uploads("new").find("<Upload>"), std::string::npos);
}

TEST_F(BehaviourTest, AistorHasNoRuleThatEndsUploadsWhichNobodyCompletes) {
  behave_as("aistor");
  const Response refused =
      send({.method = "PUT", .target = "/bucket?lifecycle=", .body = "<LifecycleConfiguration/>"});
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(code(refused), "NotImplemented");
}

// --- NooBaa ---

class NoobaaTest : public BehaviourTest {
 protected:
  NoobaaTest() {
    behave_as("noobaa");
    write_file(folder("bucket/key"), large_);
    service_.windows[kToken] = std::string(large_.size(), '.');
  }
  const std::string large_ = std::string(4096, 'a') + "tail";
};

TEST_F(NoobaaTest, RepliesWithTheHttpStatusAndCountsBothWays) {
  const Response ranged = get(kToken, {{"range", "bytes=0-4096"}});
  EXPECT_EQ(ranged.status, 206);
  EXPECT_EQ(reply(ranged), "206");
  EXPECT_EQ(count(ranged), "4097");
  EXPECT_EQ(count(put(kToken)), "4100");
}

TEST_F(NoobaaTest, SendsSmallObjectsInTheBodyWithoutAReplyHeader) {
  const Response small = get(kToken, {{"range", "bytes=1-4096"}});
  EXPECT_EQ(small.status, 206);
  EXPECT_EQ(reply(small), "");
  EXPECT_EQ(body(small).size(), 4096U);
}

TEST_F(NoobaaTest, TruncatesAGetToTheWindowWithoutAWord) {
  service_.windows[kToken].resize(100);
  const Response got = get(kToken);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(reply(got), "200");
  EXPECT_EQ(count(got), "100");
  EXPECT_EQ(service_.windows[kToken], large_.substr(0, 100));
}

TEST_F(NoobaaTest, RepliesToAnEmptyObjectWithNoBytes) {
  const Response got = request("GET", "/bucket/empty", kToken);
  EXPECT_EQ(reply(got), "200");
  EXPECT_EQ(count(got), "0");
}

TEST_F(NoobaaTest, IsSwitchedOffWithHttp501AndItsOwnCode) {
  services_->rdma = nullptr;
  for (const Response& declined : {get(kToken), put(kToken)}) {
    EXPECT_EQ(declined.status, 501);
    EXPECT_EQ(code(declined), "S3RdmaNotSupported");
    EXPECT_EQ(reply(declined), "");
  }
}

TEST_F(NoobaaTest, ChecksTheWidthOfEachFieldUnlessToldNotTo) {
  EXPECT_EQ(code(get("1:2:3")), "S3InvalidRdmaToken");
  EXPECT_EQ(code(get(kOldAistorToken)), "S3InvalidRdmaToken");
  EXPECT_EQ(code(get(kNicToken)), "S3RdmaNotSupported") << "control: well-formed";
  services_->behaviour.token_form = TokenForm::kOpaque;
  EXPECT_EQ(code(get(kOldAistorToken)), "S3RdmaNotSupported");
}

TEST_F(NoobaaTest, NamesAFailedTransferItsOwnWay) {
  service_.fail_transfers = true;
  EXPECT_EQ(code(get(kToken)), "S3RdmaIoError");
}

TEST_F(NoobaaTest, TakesOneAgentAndEchoesIt) {
  const Response got = get(kToken, {{"x-amz-rdma-agent", "cuobj"}});
  EXPECT_EQ(header(got, "x-amz-rdma-agent"), "cuobj");
  EXPECT_EQ(get(kToken, {{"x-amz-rdma-agent", "other"}}).status, 400);
}

TEST_F(NoobaaTest, ComparesNoChecksumOfAWriteAndKeepsNone) {
  constexpr const char* kWrong = "AAAAAAAAAAA=";
  service_.windows[kToken] = "123456789";
  const Response stored = put(kToken, {{"x-amz-checksum-crc64nvme", kWrong}});
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(header(stored, "x-amz-checksum-crc64nvme"), "");
  const Response part = request("PUT", part_address({{"x-amz-checksum-algorithm", "CRC64NVME"}}),
                                kToken, {{"x-amz-checksum-crc64nvme", kWrong}});
  EXPECT_EQ(part.status, 200);
  EXPECT_EQ(header(part, "x-amz-checksum-crc64nvme"), "");
  behave_as("spec");
  EXPECT_EQ(code(put(kToken, {{"x-amz-checksum-crc64nvme", kWrong}})), "BadDigest") << "control";
}

// --- versitygw ---

TEST_F(BehaviourTest, VersitygwRepliesAlways200ThoughHttpSays206) {
  behave_as("versitygw");
  EXPECT_EQ(get_range(), (Ranged{206, "200", "4"}));
  EXPECT_EQ(count(put(kToken)), "10");
}

TEST_F(BehaviourTest, VersitygwFailsWhereTheRangeIsLongerThanTheWindow) {
  behave_as("versitygw");
  service_.windows[kToken] = "....";
  EXPECT_EQ(get(kToken).status, 500);
  EXPECT_EQ(service_.windows[kToken], "....");
}

TEST_F(BehaviourTest, VersitygwFailsAboveItsLimitOfOneGibibyte) {
  behave_as("versitygw");
  EXPECT_EQ(services_->behaviour.transfer_bytes_max, kGiB);
  services_->behaviour.transfer_bytes_max = 9;
  EXPECT_EQ(get(kToken).status, 500);
  EXPECT_EQ(put(kToken).status, 500);
  EXPECT_FALSE(is_stored());
}

TEST_F(BehaviourTest, VersitygwSendsAnEmptyObjectWithoutAReplyHeader) {
  behave_as("versitygw");
  const Response got = request("GET", "/bucket/empty", kToken);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(reply(got), "");
}

TEST_F(BehaviourTest, VersitygwTakesNoParts) {
  behave_as("versitygw");
  const Response refused = request("PUT", part_address(), kToken);
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(code(refused), "NotImplemented");
}

TEST_F(BehaviourTest, VersitygwTakesWholeObjectsAsLargeAsTheWindow) {
  behave_as("versitygw");
  const Response stored = put(kToken);
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(reply(stored), "200");
  EXPECT_EQ(count(stored), "10");
  EXPECT_EQ(read_file(folder("bucket/new")), "0123456789");
}

TEST_F(BehaviourTest, VersitygwLooksAtTwoFieldsOfATokenOnly) {
  behave_as("versitygw");
  EXPECT_EQ(get("not-a-valid-token").status, 400);
  EXPECT_EQ(get("1122334455667788:2000:whatever").status, 501) << "well-formed, to it";
}

// --- Dell ObjectScale ---

TEST_F(BehaviourTest, EcsHasATokenHeaderOfItsOwnAndNoByteCount) {
  behave_as("ecs");
  EXPECT_EQ(services_->behaviour.token_header, "x-rdma-info");
  EXPECT_EQ(get_range(), (Ranged{206, "200", ""}));
  const Response stored = put(kToken);
  EXPECT_EQ(reply(stored), "200");
  EXPECT_EQ(count(stored), "");
}

TEST_F(BehaviourTest, EcsDoesNotKnowTheUsualHeader) {
  behave_as("ecs");
  const Response got =
      send({.method = "GET", .target = "/bucket/key", .headers = {{"x-amz-rdma-token", kToken}}});
  EXPECT_EQ(reply(got), "");
  EXPECT_EQ(body(got), "0123456789");
}

TEST_F(BehaviourTest, EcsFailsWithHttp500AndNoReplyHeaderWhateverTheReason) {
  behave_as("ecs");
  service_.fail_transfers = true;
  for (const Response& failed : {get(kToken), get("none"), get(kNicToken), put(kToken)}) {
    EXPECT_EQ(failed.status, 500);
    EXPECT_EQ(reply(failed), "");
  }
  EXPECT_FALSE(is_stored());
}

// --- Cloudian, Scality ---

TEST_F(BehaviourTest, CloudianRepliesWithTheStatusAndCountsGets) {
  behave_as("cloudian");
  EXPECT_EQ(get_range(), (Ranged{206, "206", "4"}));
  EXPECT_EQ(count(put(kToken)), "");
}

TEST_F(BehaviourTest, CloudianPutsWhatItDeclinesIntoTheBody) {
  behave_as("cloudian");
  EXPECT_EQ(body(get(kNicToken)), "0123456789");
}

TEST_F(BehaviourTest, ScalityHasATokenHeaderOfItsOwn) {
  behave_as("scality");
  EXPECT_EQ(services_->behaviour.token_header, "x-scal-rdma");
  EXPECT_EQ(get_range(), (Ranged{206, "206", "4"}));
}

// --- rocm-ernic ---

TEST_F(BehaviourTest, RocmErnicHasABytesHeaderOfItsOwn) {
  behave_as("rocm-ernic");
  for (const Response& done : {get(kToken), put(kToken)}) {
    EXPECT_EQ(reply(done), "200");
    EXPECT_EQ(header(done, "x-amz-rdma-bytes"), "10");
    EXPECT_EQ(count(done), "") << "the usual header";
  }
}

TEST_F(BehaviourTest, RocmErnicTakesHipObjectsTokensOnly) {
  behave_as("rocm-ernic");
  EXPECT_EQ(get(kNicToken).status, 400);
  EXPECT_EQ(put(kNicToken).status, 400);
  EXPECT_FALSE(is_stored());
  const std::string token = std::string(88, 'a') + ":0000000000001000:000000000000000a";
  EXPECT_EQ(reply(get(token)), "501") << "control: well-formed, the NIC is missing";
}

// --- Ceph, straight from the OSDs ---

class CephOsdDirectTest : public BehaviourTest {
 protected:
  static constexpr std::size_t kStripe = kMiB;

  CephOsdDirectTest() { behave_as("ceph-osd-direct"); }

  /// An object of so many bytes, of which every one is told from those a stripe away.
  std::string make_object(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i / kStripe + i % 7);
    write_file(folder("bucket/key"), bytes);
    service_.windows[kToken] = std::string(size, '.');
    service_.transfers = 0;
    return bytes;
  }
};

TEST_F(CephOsdDirectTest, HasAWriterForEachStripeOfOneWindow) {
  const std::string object = make_object(3 * kStripe);
  const Response got = get(kToken);
  EXPECT_EQ(reply(got), "200");
  EXPECT_EQ(count(got), std::to_string(object.size()));
  EXPECT_EQ(got.body_bytes(), 0U);
  EXPECT_EQ(service_.transfers, 3);
  EXPECT_EQ(service_.windows[kToken], object);
}

TEST_F(CephOsdDirectTest, MovesAGetThatFitsIntoOneStripeAsOthersDo) {
  const std::string object = make_object(1000);
  const Response got = get(kToken, {{"range", "bytes=0-998"}});
  EXPECT_EQ(reply(got), "206");
  EXPECT_EQ(count(got), "999");
  EXPECT_EQ(got.body_bytes(), 0U);
  EXPECT_EQ(service_.windows[kToken], object.substr(0, 999) + ".");
}

TEST_F(CephOsdDirectTest, SendsWhatIsLeftOfTheLastStripeInTheBody) {
  const std::string object = make_object(2 * kStripe + 100);
  const Response got = get(kToken, {{"range", "bytes=10-"}});
  EXPECT_EQ(got.status, 206);
  EXPECT_EQ(reply(got), "206");
  EXPECT_EQ(count(got), std::to_string(2 * kStripe));
  EXPECT_EQ(body(got), object.substr(10 + 2 * kStripe));
  EXPECT_EQ(service_.windows[kToken].substr(0, 2 * kStripe), object.substr(10, 2 * kStripe));
}

TEST_F(CephOsdDirectTest, ReadsAPutInOnePiece) {
  make_object(2 * kStripe + 100);
  EXPECT_EQ(reply(put(kToken)), "200");
  EXPECT_EQ(service_.transfers, 1);
  EXPECT_EQ(read_file(folder("bucket/new")), std::string(2 * kStripe + 100, '.'));
}

// --- S3 that is not quite S3 ---

class OddS3Test : public BehaviourTest {
 protected:
  std::string list(const std::string& query) {
    return body(send({.method = "GET", .target = "/bucket?list-type=2" + query}));
  }
  /// How often `part` is in `text`.
  static int times(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }
  std::string store(const std::string& content) {
    return header(send({.method = "PUT", .target = "/bucket/new", .body = content}), "ETag");
  }
};

TEST_F(OddS3Test, WeakEtagsRepeatWithinASecondAndForAnEqualSize) {
  EXPECT_NE(store("old"), store("new")) << "control";
  behave_as("weak-etags");
  const std::string etag = store("old");
  EXPECT_EQ(store("new"), etag);
  EXPECT_EQ(header(send({.method = "HEAD", .target = "/bucket/new"}), "ETag"), etag);
  EXPECT_NE(list("").find(etag.substr(1, etag.size() - 2)), std::string::npos);
  EXPECT_NE(store("newer"), etag);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_NE(store("new"), etag);
}

TEST_F(OddS3Test, WeakEtagsAreOfWholeUploadsToo) {
  behave_as("weak-etags");
  service_.windows[kToken] = "123456789";
  const auto upload = [this] {
    const std::string address = part_address();
    const std::string etag = header(request("PUT", address, kToken), "ETag");
    const std::string document = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                                 etag + "</ETag></Part></CompleteMultipartUpload>";
    const std::string id = address.substr(address.find("uploadId"));
    return between(body(send({.method = "POST", .target = "/bucket/new?" + id, .body = document})),
                   "<ETag>", "</ETag>");
  };
  const std::string first = upload();
  service_.windows[kToken] = "987654321";
  EXPECT_NE(first, "");
  EXPECT_EQ(upload(), first);
}

TEST_F(OddS3Test, NoDelimiterListsEveryKey) {
  write_file(folder("bucket/folder/one"), "1");
  EXPECT_EQ(times(list("&delimiter=/"), "<CommonPrefixes>"), 1) << "control";
  behave_as("no-delimiter");
  EXPECT_EQ(times(list("&delimiter=/"), "<CommonPrefixes>"), 0);
  EXPECT_EQ(times(list("&delimiter=/"), "<Key>folder/one</Key>"), 1);
}

TEST_F(OddS3Test, RepeatedTokensLeadNowhere) {
  for (int i = 0; i < 100; ++i) write_file(folder("bucket/many") / std::to_string(i), "");
  EXPECT_EQ(times(list("&prefix=many/"), "<Key>"), 100) << "control";
  behave_as("repeated-tokens");
  const std::string first = list("&prefix=many/");
  const std::string token = between(first, "<NextContinuationToken>", "</NextContinuationToken>");
  ASSERT_NE(token, "");
  const std::string second = list("&prefix=many/&continuation-token=" + token);
  EXPECT_NE(between(second, "<Key>", "</Key>"), between(first, "<Key>", "</Key>"));
  EXPECT_EQ(between(second, "<NextContinuationToken>", "</NextContinuationToken>"), token);
  EXPECT_EQ(list("&prefix=many/&continuation-token=" + token), second);
}

// --- a server without RDMA ---

TEST_F(BehaviourTest, PlainIgnoresTokensAndStoresTheEmptyObject) {
  behave_as("plain");
  const Response got = get(kToken);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(reply(got), "");
  EXPECT_EQ(body(got), "0123456789");
  const Response stored = put(kToken);
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(reply(stored), "");
  EXPECT_TRUE(is_stored());
  EXPECT_EQ(read_file(folder("bucket/new")), "");
}

// --- tokens of others, whoever is played ---

TEST_F(BehaviourTest, AnEndpointOfHipObjectIsDeclinedOrMalformedButNeverServed) {
  for (const Behaviour& behaviour : behaviours()) {
    if (behaviour.ignores_tokens) continue;
    services_->behaviour = behaviour;
    const Response got = get(std::string(88, 'a'));
    EXPECT_NE(reply(got), "200") << behaviour.name;
    EXPECT_EQ(service_.windows[kToken], "0123456789");
  }
}

}  // namespace
}  // namespace s3rdmafs::target
