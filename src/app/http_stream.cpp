#include "app/http_stream.h"

#include <curl/curl.h>

#include <memory>

#include "app/terminal.h"

namespace brass::app {
namespace {

constexpr size_t kMostErrorText = 2000;

struct Answer {
  CURL* handle;
  const std::function<void(std::string_view)>& each;
  std::string error_text;  // of an answer that is not 2xx
  long status = 0;
};

size_t on_bytes(char* data, size_t size, size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  if (answer.status == 0) curl_easy_getinfo(answer.handle, CURLINFO_RESPONSE_CODE, &answer.status);
  const std::string_view bytes(data, size * count);
  if (answer.status >= 200 && answer.status < 300)
    answer.each(bytes);
  else if (answer.error_text.size() < kMostErrorText)
    answer.error_text += bytes.substr(0, kMostErrorText);
  return bytes.size();
}

int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return interrupted() ? 1 : 0; }

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void set_up(CURL* handle, const HttpRequest& request, curl_slist* headers, Answer& answer) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, request.connect_timeout_s);
  curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  if (request.body.empty()) return;
  curl_easy_setopt(handle, CURLOPT_POST, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
}

}  // namespace

Result<> http_stream(const HttpRequest& request, const std::function<void(std::string_view)>& each) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) return fail("libcurl does not start: {}", curl_easy_strerror(started));
  const std::unique_ptr<CURL, FreeHandle> handle(curl_easy_init());
  if (handle == nullptr) return fail("libcurl gives no handle");
  std::unique_ptr<curl_slist, FreeList> headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  for (const std::string& header : request.headers)
    headers.reset(curl_slist_append(headers.release(), header.c_str()));
  Answer answer{handle.get(), each, {}, 0};
  set_up(handle.get(), request, headers.get(), answer);
  const CURLcode done = curl_easy_perform(handle.get());
  if (done == CURLE_ABORTED_BY_CALLBACK) return fail("{}: interrupted", request.url);
  if (done != CURLE_OK)
    return fail_hint("is a server running there?", "{}: {}", request.url, curl_easy_strerror(done));
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  if (answer.status < 200 || answer.status >= 300)
    return fail("{}: the server answered {}: {}", request.url, answer.status, answer.error_text);
  return {};
}

Result<std::string> http_text(const HttpRequest& request) {
  std::string text;
  TRY_VOID(http_stream(request, [&](std::string_view bytes) { text += bytes; }));
  return text;
}

}  // namespace brass::app
