// One fetch for the cache, run by the owner of the stripe, and read by everybody who asked for the
// same key meanwhile.
//
//   fetching -> streaming -> ended      a response, stored or not; or a block of a sliced object
//   fetching -> ended                   validated, or failed
//
// Body memory is a row of parts (pool buffers). While the response is stored, a part is a record
// that is being written: an object up to kMaxObjectBody is one; longer ones are chunks, and a head
// record last. Subscribers are lent the bytes where the origin's were received. Who falls behind
// what is still in memory reads the written chunk from the disk; so a slow client delays nobody. A
// response that is not stored belongs to its leader; the others are released at its head.
//
// Limits: kMaxParts in memory beyond what is lent; kWaiters subscribers; without subscribers only
// fills that have little left to fetch go on (kFinishBytes).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/cache/calls.h"
#include "source/cache/coded_stream.h"
#include "source/cache/crowd.h"
#include "source/cache/fill_part.h"
#include "source/cache/partial.h"
#include "source/coding/coder.h"
#include "source/http/uri.h"
#include "source/policy/slice.h"
#include "source/policy/tags.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/cancel.h"
#include "source/rt/frame_pool.h"
#include "source/rt/wait.h"
#include "source/store/core/record_writer.h"
#include "source/store/io/log.h"

namespace cache {

class Stripe;

class Fill final : public rt::FramePooled, private InterimSink {
 public:
  static constexpr uint32_t kChunkBody = 508 << 10;  // a chunk record fits a 512 KiB buffer
  static constexpr uint32_t kPassPart = 64 << 10;    // of a response that is not stored
  static constexpr uint32_t kFirstPart = 64 << 10;   // when the length is not known
  static constexpr size_t kMaxParts = 2;
  static constexpr uint32_t kWaiters = 16384;
  static constexpr uint64_t kFinishBytes = 32 << 20;
  static constexpr uint32_t kHitForMiss_s = 120;
  static constexpr size_t kMaxInterims = 4;  // further ones are dropped

  // Copies what it needs of the request.
  Fill(Stripe& stripe, const FillRequest& request, uint64_t number, rt::CancelScope& parent);
  ~Fill();
  Fill(const Fill&) = delete;
  // Runs to the end; the stripe owns the task.
  rt::Task<void> run();

  // For the stripe.
  Stripe& stripe() { return stripe_; }
  uint64_t number() const { return number_; }
  base::Hash128 hash() const { return hash_; }
  std::string_view key() const { return key_; }
  // Whether a purge of this primary key concerns what it brings. Where No-Vary-Search is heeded the
  // response alone says which other queries it answers: any of the path counts.
  bool concernedBy(std::string_view key) const;
  // Whether a request that arrives now may be answered with it: a response that has become stale
  // while it still arrives may not (RFC 9111 4.2).
  bool joinable(base::UnixSeconds now) const;
  // What it brings was asked for before a purge: it is not kept, and nobody joins it any more.
  void purge() {
    purged_ = true;
    detached_ = true;
  }
  // As far as the labels are known; tags come with the response (Stripe::purgedSince).
  bool selectedBy(const store::Selector& selector) const;
  void taskEnded() { task_ended_ = true; }
  bool finished() const { return task_ended_ && subscribers_ == 0; }

  // For subscribers, on the owner's shard.
  void subscribe(Subscription& subscription, bool leader);
  rt::Task<void> awaitHead(AwaitHeadCall& call);
  rt::Task<void> pull(PullCall& call);
  void leave(Subscription& subscription);

 private:
  // fill_subscribers.cc
  bool fits(const http::Fields& request) const;
  void wake() { progress_.wakeAll(); }
  void noLongerAwaited(Subscription& subscription);
  bool abandoned() const;
  // fill.cc
  void onInterim(const http::ResponseHead& head) override;
  rt::Task<policy::FetchKind> begin();
  rt::Task<FetchOutcome> fetch(policy::FetchKind kind);
  enum class Step : uint8_t { streams, again, ended };
  rt::Task<Step> takeResponse(policy::FetchKind& kind, policy::Exchange exchange,
                              OriginStream& stream);
  rt::Task<void> takeBody(std::unique_ptr<OriginStream> stream);
  void fail(policy::UpstreamFailure failure);
  enum class Recoding : uint8_t { allowed, forbidden };
  void decide(const http::ResponseHead& received, policy::Exchange exchange,
              std::optional<uint64_t> length, Recoding recoding);
  bool chooseKey(const policy::Store& store, const http::Fields& response);
  void choosePrimary(const http::Fields& response);
  const policy::TagRules& tagRules() const;
  bool takeTags(const http::Fields& response);
  bool useTags(std::string_view tags, const http::Fields& response);
  bool metaFits(size_t head_bytes) const;
  uint32_t metaBytes() const;
  void rememberMiss();
  std::optional<policy::NoStoreReason> refuse(const http::ResponseHead& response,
                                              const policy::Store& store, const std::string& head);
  std::string fullText(const http::ResponseHead& response, const policy::Store& store,
                       std::optional<uint64_t> length) const;
  // fill_slices.cc
  rt::Task<Step> takeSlice(policy::BlockAnswer answer, policy::Exchange exchange,
                           const OriginStream& stream);
  rt::Task<bool> appendSlices(const SliceTable& table);
  void becomeBlock(BlockSpec block);
  bool takeBlock(const OriginStream& stream);
  void beginBlock();
  // fill_coding.cc
  bool recode(const http::ResponseHead& received, std::optional<uint64_t>& length,
              policy::Store& store, Coded& coded);
  HeadText passOn(const http::ResponseHead& received, std::optional<uint64_t> length,
                  policy::Store nothing, policy::Exchange exchange);
  void dropCoder();
  // fill_validate.cc
  rt::Task<bool> validated(const http::ResponseHead& update, policy::Exchange exchange);
  void takeValidatedHead(const http::ResponseHead& merged, const policy::Store& store,
                         const StoredHead& stored, uint64_t length);
  rt::Task<bool> rewrite(const store::RecordView& old, store::Entry entry);
  bool changesSearch(const http::Fields& stored, const http::Fields& update) const;
  // fill_partial.cc
  rt::Task<void> keepPrefix();
  rt::Task<bool> findPartial();
  bool takePartial(const store::RecordView& record, base::Hash128 hash, std::string_view key);
  bool resume(const http::ResponseHead& response, policy::Exchange exchange,
              std::optional<uint64_t> body_length);
  void dropPartial();
  bool arePresent(const std::vector<store::Extent>& extents) const;
  // fill_body.cc
  rt::Task<bool> stream(OriginStream& origin);
  rt::Task<bool> makeSpace();
  std::span<std::byte> space();
  void received(uint32_t bytes);
  rt::Task<rt::Buffer> memory(uint32_t bytes);
  rt::Task<bool> openPart();
  rt::Task<bool> openObject(uint32_t buffer_bytes, uint32_t max_body);
  rt::Task<bool> openChunk();
  rt::Task<bool> openPass();
  rt::Task<bool> replacePart(bool as_chunk);
  rt::Task<void> closeChunk();
  rt::Task<bool> waitForReaders();
  void stopStoring();
  bool oversized() const;
  void retireParts(size_t keep);
  uint64_t slowest() const;
  bool lastPieceWaits(const FillPart& part) const;
  // fill_finish.cc
  rt::Task<void> finish();
  rt::Task<bool> appendObject();
  rt::Task<bool> appendHead();
  rt::Task<void> appendRules();
  rt::Task<void> appendRule(std::string key, VaryRule rule);
  rt::Task<bool> appendRecord(std::span<std::byte> record, store::Publish publish);
  store::RecordFields recordFields(store::RecordKind kind) const;

  Stripe& stripe_;
  uint64_t number_;  // of the stripe's fills, in the order in which they began
  rt::CancelScope scope_;
  // The request, copied.
  std::string primary_key_;
  std::string key_;
  base::Hash128 hash_;
  std::string raw_head_;
  http::RequestHead request_;
  http::AuthorityBuffer authority_;
  http::Effective uri_;
  std::string client_address_;
  std::string normal_text_;  // what fields of request_ view that were normalised
  std::string_view via_;     // of snapshot_
  std::string_view cdn_loop_;
  std::shared_ptr<const config::Snapshot> snapshot_;
  const config::VirtualHost* host_;
  const config::Route* route_;
  policy::RequestDirectives directives_;
  std::optional<VaryRule> rule_;  // known before, or made from the response
  bool new_rule_ = false;
  bool by_path_ = false;            // the route heeds No-Vary-Search
  std::string asked_;               // then: the URL's own key
  std::optional<VaryRule> search_;  // as rule_, of the path's queries
  bool new_search_ = false;
  bool narrowed_ = false;  // the response is not for all that joined by search_
  std::optional<store::Entry> stored_entry_;
  std::string stored_text_;
  http::ResponseHead stored_;  // views of stored_text_; its entity tag is the origin's

  uint64_t slice_bytes_;  // not 0: the whole is asked for in blocks, this one first
  uint64_t slice_block_;
  std::optional<BlockSpec> block_;    // what is fetched is a block
  std::string range_;                 // what is asked for
  std::unique_ptr<Partial> partial_;  // what did not come whole, when the rest is asked for

  // The outcome.
  bool has_head_ = false;
  bool ended_ = false;
  bool task_ended_ = false;  // run() has returned: the fill goes with its last subscriber
  bool complete_ = false;
  bool detached_ = false;  // new requests do not join
  bool purged_ = false;
  FillHead how_ = FillHead::failed;
  policy::UpstreamFailure failure_ = policy::UpstreamFailure::connect;
  FillInfo info_;
  std::vector<std::unique_ptr<const std::string>> interims_;  // heads; each stays where it is
  std::string head_text_;
  std::string leader_text_;  // with the fields that are for its client alone, if there are any
  bool storing_ = false;
  bool passing_ = false;              // not stored: for the leader alone
  bool refused_for_request_ = false;  // by a rule that this request alone matches
  std::vector<std::byte> meta_;
  std::string tags_;                  // joined by line feeds
  std::vector<store::Label> labels_;  // of the directories, then of the tags and groups
  size_t directories_ = 0;
  std::string record_primary_;  // where No-Vary-Search moved it
  std::string record_key_;      // the variant's, once the response has said so
  base::Hash128 record_hash_;

  // The body.
  std::vector<FillPart*> parts_;  // few
  bool chunked_ = false;          // longer than one record
  uint64_t received_ = 0;
  uint64_t paid_bytes_ = 0;  // of the write budget, when the length was known
  uint64_t object_id_ = 0;
  std::vector<store::Extent> extents_;
  std::unique_ptr<coding::Coder> coder_;     // of the body that is to come
  bool has_coder_ = false;                   // or had: the stripe's limit counts it
  std::optional<base::Hash128> chunk_hash_;  // where it is not record_hash_
  bool completable_ = false;                 // the response, if it does not come whole

  std::vector<Subscription*> readers_;
  uint32_t subscribers_ = 0;
  Crowd crowd_;
  rt::WaitQueue progress_;
};

}  // namespace cache
