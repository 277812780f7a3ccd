// Which fields are for this connection only and are not forwarded or stored (RFC 9110 7.6.1).
#pragma once

#include "source/http/head.h"

namespace http {

// Connection-specific whether or not Connection names them: Connection, Keep-Alive,
// Proxy-Connection, TE, Transfer-Encoding, Upgrade, HTTP2-Settings, and the fields of proxy
// authentication, whose two ends are this proxy and its client. Trailer is not one: it describes
// the message.
bool alwaysHopByHop(Name id);

// Answers for the fields of one message. Connection names are looked up only when the message has
// some besides "close" and "keep-alive", so the usual message costs one switch a field.
class HopByHop {
 public:
  explicit HopByHop(const Fields& fields);

  // Fields without which a message means something else (Host, Content-Length, Cache-Control, Vary
  // and their like) are never covered, whatever Connection says: naming one is an attack, not an
  // option.
  bool covers(const Field& field) const {
    return alwaysHopByHop(field.id) || (named_ && namedInConnection(field));
  }

 private:
  bool namedInConnection(const Field& field) const;

  const Fields& fields_;
  bool named_ = false;
};

}  // namespace http
