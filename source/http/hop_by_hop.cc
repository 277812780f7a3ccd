#include "source/http/hop_by_hop.h"

#include "source/http/list.h"

namespace http {
namespace {

// Naming one of these in Connection would change what the message says, or to whom.
bool neverHopByHop(Name id) {
  switch (id) {
    case Name::age:
    case Name::cache_control:
    case Name::cdn_cache_control:
    case Name::cdn_loop:
    case Name::content_encoding:
    case Name::content_length:
    case Name::content_range:
    case Name::content_type:
    case Name::date:
    case Name::expires:
    case Name::host:
    case Name::surrogate_control:
    case Name::vary:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool alwaysHopByHop(Name id) {
  switch (id) {
    case Name::connection:
    case Name::http2_settings:
    case Name::keep_alive:
    case Name::proxy_authenticate:
    case Name::proxy_authentication_info:
    case Name::proxy_authorization:
    case Name::proxy_connection:
    case Name::te:
    case Name::transfer_encoding:
    case Name::upgrade:
      return true;
    default:
      return false;
  }
}

HopByHop::HopByHop(const Fields& fields) : fields_(fields) {
  if (!fields.has(Name::connection)) {
    return;
  }
  FieldList options(fields, Name::connection);
  for (auto option = options.next(); option.has_value(); option = options.next()) {
    named_ |= !equalsIgnoreCase(*option, "close") && !equalsIgnoreCase(*option, "keep-alive");
  }
}

bool HopByHop::namedInConnection(const Field& field) const {
  return !neverHopByHop(field.id) && listContains(fields_, Name::connection, field.name);
}

}  // namespace http
