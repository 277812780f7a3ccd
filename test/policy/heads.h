// Message heads from literals, for tables of tests. Texts that are made, such as dates, are kept by
// the Text that made them.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "source/base/types.h"
#include "source/http/date.h"
#include "source/http/head.h"
#include "source/policy/route_policy.h"

namespace policy::testing {

inline constexpr base::UnixSeconds kNow{1'800'000'000};

using FieldRow = std::pair<std::string_view, std::string_view>;
using FieldRows = std::initializer_list<FieldRow>;

template <class Rows = FieldRows>
http::Fields fieldsOf(const Rows& rows) {
  http::Fields fields;
  for (const FieldRow& row : rows) {
    fields.add(row.first, row.second);
  }
  return fields;
}

inline http::RequestHead request(std::string_view method, FieldRows rows = {}) {
  http::RequestHead head;
  head.method = method;
  head.target = "/";
  head.fields = fieldsOf(rows);
  return head;
}
inline http::RequestHead get(FieldRows rows = {}) {
  return request("GET", rows);
}

inline http::ResponseHead response(uint16_t status, FieldRows rows = {}) {
  http::ResponseHead head;
  head.status = status;
  head.fields = fieldsOf(rows);
  return head;
}
inline http::ResponseHead ok(FieldRows rows = {}) {
  return response(200, rows);
}

inline RoutePolicy enabledRoute() {
  RoutePolicy route;
  route.enabled = true;
  return route;
}

class Text {
 public:
  // An HTTP date that many seconds from kNow.
  std::string_view date(int64_t offset_s) {
    std::array<char, http::kDateSize> text;
    http::formatDate(base::UnixSeconds{kNow.s + offset_s}, text);
    return keep(std::string(text.data(), text.size()));
  }
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> kept_;
};

}  // namespace policy::testing
