// What a request says of its reply's form, as OpenAI's `response_format` has it.
//
// Owns: the forms that are known. Must not know: HTTP. Errors name the field, and behind it the schema's place and keyword.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/grammar/schema.h"

namespace brass::grammar {

// {"type": "text"} or null: no grammar (nullptr). {"type": "json_object"}: any JSON object. {"type": "json_schema",
// "json_schema": {"schema": …}}, or "schema" beside "type": what the schema allows. Read a request with parse_schema(),
// so that numbers are exact.
Result<std::shared_ptr<const Grammar>> grammar_from_response_format(const nlohmann::ordered_json& format,
                                                                    const SchemaOptions& options = {});

}  // namespace brass::grammar
