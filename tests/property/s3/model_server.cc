// SPDX-License-Identifier: Apache-2.0
#include "model_server.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using fakes::ScriptedAnswer;
using fakes::SeenRequest;

std::vector<std::pair<std::string, std::string>> metadata_of(const SeenRequest& request) {
  std::vector<std::pair<std::string, std::string>> kept;
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("x-amz-meta-")) kept.emplace_back(name, value);
  }
  return kept;
}

std::string upload_id_of(const SeenRequest& request) {
  const std::size_t at = request.query.find("uploadId=");
  return at == std::string::npos ? "" : request.query.substr(at + 9);
}

ScriptedAnswer stored(const std::string& etag) { return {.headers = {{"ETag", etag}}}; }

}  // namespace

ModelServer::ModelServer(Dialect dialect, const std::vector<Fate>& fates)
    : dialect_(dialect), fates_(fates.begin(), fates.end()) {
  http_.answer_by([this](const SeenRequest& request) { return answer(request); });
}

std::string ModelServer::store(const std::string& key, std::string bytes) {
  const MutexLock lock(mutex_);
  return put_locked(key, {.bytes = std::move(bytes), .etag = {}});
}

void ModelServer::remove(const std::string& key) {
  const MutexLock lock(mutex_);
  objects_.erase(key);
}

std::optional<ModelServer::Object> ModelServer::object(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return found->second;
}

std::string ModelServer::put_locked(const std::string& key, Object object) {
  object.etag = "\"v" + std::to_string(++versions_) + "\"";
  objects_[key] = object;
  return object.etag;
}

ScriptedAnswer ModelServer::answer(const SeenRequest& request) {
  const MutexLock lock(mutex_);
  Fate fate = Fate::kAnswered;
  if (!fates_.empty()) {
    fate = fates_.front();
    fates_.pop_front();
  }
  if (fate == Fate::kCutBefore) return {.cut = true};
  ScriptedAnswer answer = act(request);
  if (fate == Fate::kCutAfter) return {.cut = true};
  return answer;
}

ScriptedAnswer ModelServer::act(const SeenRequest& request) {
  const std::string key = request.url.substr(std::string("/train/").size());
  if (request.method == "HEAD") return head(key);
  if (request.method == "POST") return post(request, key);
  if (request.method == "DELETE") return erase(request, key);
  return request.headers.contains("x-amz-copy-source") ? copy(request, key) : put(request, key);
}

ScriptedAnswer ModelServer::head(const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return {.status = 404};
  ScriptedAnswer answer = stored(found->second.etag);
  for (const auto& header : found->second.metadata) answer.headers.push_back(header);
  answer.body = found->second.bytes;
  return answer;
}

ScriptedAnswer ModelServer::put(const SeenRequest& request, const std::string& key) {
  if (const std::string id = upload_id_of(request); !id.empty()) {
    uploads_[id] = request.body;
    return stored("\"part\"");
  }
  if (auto refused = refusal(request, key, dialect_.put)) return *refused;
  return stored(
      put_locked(key, {.bytes = request.body, .etag = {}, .metadata = metadata_of(request)}));
}

ScriptedAnswer ModelServer::copy(const SeenRequest& request, const std::string& key) {
  const auto source = objects_.find("source");
  if (source == objects_.end()) return error_answer(404, "NoSuchKey");
  if (request.headers.at("x-amz-copy-source-if-match") != source->second.etag) {
    return error_answer(412, "PreconditionFailed");
  }
  if (auto refused = refusal(request, key, dialect_.copy)) return *refused;
  const std::string etag = put_locked(
      key, {.bytes = source->second.bytes, .etag = {}, .metadata = metadata_of(request)});
  return {.body = "<CopyObjectResult><ETag>" + etag + "</ETag></CopyObjectResult>"};
}

ScriptedAnswer ModelServer::post(const SeenRequest& request, const std::string& key) {
  const std::string id = upload_id_of(request);
  if (id.empty()) {
    const std::string begun = "u" + std::to_string(++versions_);
    uploads_[begun];
    return {.body = "<InitiateMultipartUploadResult><UploadId>" + begun +
                    "</UploadId></InitiateMultipartUploadResult>"};
  }
  const auto upload = uploads_.find(id);
  if (upload == uploads_.end()) return error_answer(404, "NoSuchUpload");
  if (auto refused = refusal(request, key, dialect_.complete)) return *refused;
  const std::string etag = put_locked(key, {.bytes = upload->second, .etag = {}});
  uploads_.erase(upload);
  return {.body = "<CompleteMultipartUploadResult><ETag>" + etag +
                  "</ETag></CompleteMultipartUploadResult>"};
}

ScriptedAnswer ModelServer::erase(const SeenRequest& request, const std::string& key) {
  if (const std::string id = upload_id_of(request); !id.empty()) {
    uploads_.erase(id);
    return {.status = 204};
  }
  if (auto refused = refusal(request, key, dialect_.remove)) return *refused;
  objects_.erase(key);
  return {.status = 204};
}

std::optional<ScriptedAnswer> ModelServer::refusal(const SeenRequest& request,
                                                   const std::string& key,
                                                   Conditions treated) const {
  const auto match = request.headers.find("if-match");
  const bool has_match = match != request.headers.end();
  const bool has_none_match = request.headers.contains("if-none-match");
  if ((!has_match && !has_none_match) || treated == Conditions::kIgnored) return std::nullopt;
  if (treated == Conditions::kRefused) return error_answer(501, "NotImplemented");
  const auto found = objects_.find(key);
  const bool is_there = found != objects_.end();
  const ScriptedAnswer fails = error_answer(412, "PreconditionFailed");
  if (has_none_match) return is_there ? std::optional(fails) : std::nullopt;
  if (is_there) return found->second.etag == match->second ? std::nullopt : std::optional(fails);
  if (request.method == "DELETE") return std::nullopt;
  return error_answer(404, "NoSuchKey");
}

}  // namespace s3rdmafs::s3
