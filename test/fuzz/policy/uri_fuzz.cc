// Goal: references resolve, keys and invalidations are made from arbitrary bytes; what results is a
// URL that resolves to itself, and of the same origin where that is required.
// Input: two lines, a base path and a reference.
#include <cstdint>
#include <string>
#include <string_view>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/policy/invalidate.h"
#include "source/policy/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view path = text.substr(0, end);
  const std::string_view reference = text.substr(std::min(end + 1, text.size()));
  if (!path.starts_with('/') || !http::all(http::kTargetChar, path)) {
    return 0;
  }
  const http::PathQuery split = http::splitPathQuery(path);
  http::Effective base;
  base.authority = "a.example";
  base.path = split.path;
  base.query = split.query;
  base.has_query = split.has_query;

  policy::OwnedUri uri;
  if (policy::resolveReference(base, reference, uri)) {
    CHECK(uri.parts().path.starts_with('/'));
    CHECK(!uri.parts().authority.empty());
    policy::OwnedUri again;
    CHECK(policy::parseAbsoluteUri(uri.text(), again));
    CHECK(again.text() == uri.text());
  }

  policy::KeySpec spec;
  spec.sort_query = true;
  spec.query_parameters_excluded = {"utm_*"};
  std::string key;
  policy::cacheKey(base, spec, key);
  std::string sorted_again;
  const http::PathQuery keyed = http::splitPathQuery(
      std::string_view(key).substr(std::string_view("http://a.example").size()));
  http::Effective twice = base;
  twice.path = keyed.path;
  twice.query = keyed.query;
  twice.has_query = keyed.has_query;
  policy::cacheKey(twice, spec, sorted_again);
  CHECK(sorted_again == key);

  http::RequestHead request;
  request.method = "POST";
  http::ResponseHead response;
  response.status = 201;
  response.fields.add("Location", reference);
  const policy::Invalidation result = policy::invalidatedBy(request, base, response);
  CHECK(result.count >= 1);
  for (uint8_t i = 0; i < result.count; i++) {
    CHECK(result.uris[i].parts().authority == base.authority);
    CHECK(result.uris[i].parts().scheme == base.scheme);
  }
  return 0;
}
