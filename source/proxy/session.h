// One client's connection: reads requests, finds what each is to be answered with, and sends the
// answer. The coroutine of an idle connection holds a few hundred bytes; everything else comes and
// goes with a request.
//
//   session.cc       the loop: read a head, parse, route, answer, again
//   serve_cached.cc  lookup, fill, validation, what may be served stale
//   serve_pass.cc    requests that go to the origin past the cache
//   keep_post.cc     answers to POST that a later GET may be given
//   send.cc          heads and bodies to the client
//   send_ranges.cc   ranges of what is stored
//   send_sliced.cc   objects that are kept in blocks
//   repair.cc        the rest of a body whose record turns out to be unreadable
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "source/base/intrusive_list.h"
#include "source/http/multipart.h"
#include "source/net/acceptor.h"
#include "source/net/stream.h"
#include "source/policy/serve.h"
#include "source/proxy/context.h"
#include "source/proxy/input.h"
#include "source/proxy/keep_post.h"
#include "source/proxy/origin.h"
#include "source/proxy/request.h"

namespace proxy {

// An error's answer: the one place that chooses status codes for errors.
struct LocalReply {
  uint16_t status = 500;
  std::string_view flags;    // for the access log
  std::string_view details;  // a word for logs and statistics
};
LocalReply replyFor(const base::Error& error);  // of a request's framing, or its body
LocalReply replyFor(policy::ErrorAnswer answer, policy::UpstreamFailure failure);
LocalReply replyFor(const upstream::Failure& failed);

class Session : public base::ListHook {
 public:
  Session(Context& context, ScratchPool& scratch, net::Stream stream, net::ConnectionSlot slot,
          std::string_view listener, uint64_t id, rt::CancelScope& parent);
  ~Session();

  // To the end of the connection.
  rt::Task<void> run();
  // Ends the connection: at once if no request has begun, else with the answer to the one that has.
  void drain();
  std::string_view listener() const { return listener_name_; }

 private:
  friend class RequestBody;
  // session.cc
  rt::Task<bool> readHead();
  rt::Task<bool> receive(base::MonoTime deadline, base::Error& error,
                         rt::Arrival arrival = rt::Arrival::now);
  rt::Task<void> serve();
  rt::Task<void> linger();
  bool parse(Request& request, LocalReply& problem);
  bool findRoute(Request& request, LocalReply& problem);
  rt::Task<void> answer(Request& request);
  void finishRequest(Request& request);
  void logAccess(Request& request);
  const config::ListenerConfig* findListener(const config::Snapshot& snapshot) const;
  const config::ListenerConfig* listenerNow() const;
  base::MonoTime after(uint64_t ms) const;  // 0: never

  // serve_cached.cc
  rt::Task<void> serveCached(Request& request, const policy::Lookup& lookup);
  bool quickHit(Request& request, const policy::Lookup& lookup, cache::Reader& reader);
  enum class Next : uint8_t { done, look_again, look_again_validated, look_again_sliced, pass };
  rt::Task<bool> serveStored(Request& request, const policy::Lookup& lookup, cache::Reader& reader,
                             cache::LookupResult& seen, Next after);
  rt::Task<Next> fetchForCache(Request& request, const policy::Lookup& lookup,
                               cache::Reader& stored, const cache::LookupResult& seen);
  rt::Task<Next> serveFill(Request& request, const policy::Lookup& lookup, cache::Reader& stored,
                           cache::Reader& live, bool stored_usable, bool collapsed);
  rt::Task<cache::AwaitHeadCall> awaitFill(Request& request, cache::Reader& live,
                                           base::MonoTime deadline);
  rt::Task<void> sendStale(Request& request, const policy::Lookup& lookup, cache::Reader& stored);
  cache::FillRequest fillRequest(Request& request, const policy::Lookup& lookup) const;
  cache::ShardCache& cacheOf(const Request& request) const;

  // serve_pass.cc
  rt::Task<void> servePass(Request& request, const policy::Lookup* lookup);
  void keepHead(Request& request);
  rt::Task<void> afterPass(Request& request, const policy::Lookup* lookup,
                           const http::ResponseHead& response, policy::Exchange exchange,
                           std::optional<KeptPost>& kept);
  rt::Task<void> watchClient(rt::CancelScope* fetching, rt::CancelScope* scope);
  const http::ResponseHead& asGetWould(Request& request, const policy::Lookup* lookup,
                                       const http::ResponseHead& response,
                                       policy::Exchange exchange, http::ResponseHead& out,
                                       std::string& text) const;
  rt::Task<void> relay(Request& request, OriginExchange& origin, const http::ResponseHead& response,
                       std::optional<KeptPost>& kept);
  rt::Task<bool> relayBody(Request& request, OriginExchange& origin, std::string_view head,
                           bool chunked, KeptPost* kept = nullptr);
  rt::Task<uint64_t> invalidate(Request& request, const http::ResponseHead& response);
  rt::Task<void> invalidateGroups(Request& request, const http::ResponseHead& response);
  // keep_post.cc
  std::optional<KeptPost> planKeptPost(Request& request, const http::ResponseHead& response,
                                       policy::Exchange exchange, uint64_t epoch) const;
  rt::Task<void> keepPost(Request& request, const http::ResponseHead& response,
                          const KeptPost& kept);

  // send.cc
  rt::Task<void> sendLocal(Request& request, LocalReply reply, std::string_view body = {});
  rt::Task<void> sendDirect(Request& request);
  rt::Task<void> sendObject(Request& request, const policy::Lookup& lookup, cache::Reader& reader,
                            bool validated = false);
  rt::Task<bool> sendBody(Request& request, cache::Reader& reader, bool chunked);
  rt::Task<bool> sendFromFile(Request& request, std::string_view& head, cache::Reader& reader);
  struct Shape {
    uint16_t status = 0;
    std::optional<uint64_t> length;                // of the content
    std::unique_ptr<http::MultipartRanges> parts;  // the content, when it is several ranges
  };
  Shape shapeHead(Request& request, const policy::Lookup& lookup, cache::Reader& reader);
  // send_ranges.cc
  std::string shapeRange(Request& request, cache::Reader& reader, Shape& shape);
  rt::Task<void> sendParts(Request& request, cache::Reader& reader,
                           const http::MultipartRanges& parts);
  rt::Task<bool> sendPart(Request& request, cache::Reader& reader, std::string_view head,
                          std::string_view before);
  // send_sliced.cc
  rt::Task<bool> openSliced(Request& request, const policy::Lookup& lookup, cache::Reader& reader);
  void notePartial(Request& request, const cache::SlicedBody& blocks);
  // repair.cc
  rt::Task<bool> sendRest(Request& request, cache::Reader& reader, std::string_view head,
                          bool chunked, base::Error error);
  rt::Task<bool> fetchRest(Request& request, cache::Reader& reader, std::string_view etag,
                           std::string_view head, bool chunked);
  rt::Task<bool> passOver(OriginExchange& origin, uint64_t bytes);
  size_t writeTail(Request& request, std::span<char> out);
  // Where the bytes of a body lie: in memory that nobody else waits for, or in the pool's.
  enum class Held : uint8_t { own, pooled };
  rt::Task<bool> write(Request& request, std::string_view head, std::span<const std::byte> body,
                       bool chunked, std::string_view before = {}, Held held = Held::own);
  void noteHead(Request& request, std::string_view head);
  // send_pooled.cc
  struct Sent {
    uint64_t bytes = 0;
    bool asked = false;  // stopped, since others need the memory
    bool ok = false;     // false: the answer was cut off
  };
  rt::Task<Sent> sendPooled(Request& request, std::span<const iovec> pieces, bool may_stop);
  rt::Task<bool> sendPiece(Request& request, std::string_view& head, cache::Reader& reader,
                           std::span<const std::byte> piece);
  void cutOff(Request& request, bool by_client);
  void countStatus(uint16_t status);

  Context& context_;
  ScratchPool& scratch_;
  net::Stream stream_;
  net::ConnectionSlot slot_;
  rt::CancelScope scope_;
  Input input_;
  std::string listener_name_;
  uint64_t id_;
  uint64_t requests_ = 0;
  bool serving_ = false;
  bool draining_ = false;
  bool head_sent_ = false;     // of the current request's response
  bool open_ = true;           // the connection may carry another request
  bool continue_due_ = false;  // the client waits for 100 before it sends its body
  bool unread_body_ = false;   // the client may still be sending what nobody reads
  std::array<char, net::Address::kText_bytes> peer_text_;
  uint8_t peer_text_size_ = 0;
  std::string_view peerIp() const { return {peer_text_.data(), peer_text_size_}; }
};

}  // namespace proxy
