// One HTTP request whose answer is read as it comes.
//
// Owns: the boundary to libcurl, which is included in http_stream.cpp only. Must not know: what is asked.
// Invariants: Ctrl-C (terminal.h) ends a request; an answer other than 2xx is an error with the server's words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::app {

struct HttpRequest {
  std::string url;
  std::string body;                  // "": GET; else POST of JSON
  std::vector<std::string> headers;  // "Name: value"
  long connect_timeout_s = 10;
};

// `each` gets the answer's bytes in order.
Result<> http_stream(const HttpRequest& request, const std::function<void(std::string_view)>& each);
Result<std::string> http_text(const HttpRequest& request);

}  // namespace brass::app
