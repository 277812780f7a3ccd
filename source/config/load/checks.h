// What the compilers of the configuration's parts share: a place in it, and tests of values that
// report what fails.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/ringfence/config/v1/address.pb.h"
#include "source/config/load/report.h"
#include "source/config/model/snapshot.h"

namespace config {

namespace pb = ::ringfence::config::v1;

// The path of a message or field, and where to report about it.
class Place {
 public:
  Place(Reporter& reporter, std::string path) : reporter_(&reporter), path_(std::move(path)) {}

  Place operator[](std::string_view field) const;
  Place operator[](int index) const;

  const std::string& path() const { return path_; }
  Reporter& reporter() const { return *reporter_; }
  void error(std::string message, std::string suggestion = "") const {
    reporter_->error(path_, std::move(message), std::move(suggestion));
  }
  void warning(std::string message, std::string suggestion = "") const {
    reporter_->warning(path_, std::move(message), std::move(suggestion));
  }
  // A required field is absent. Says nothing when its message could not be read whole, since the
  // mistake that was reported there is the likely cause.
  void missing(std::string_view what = "is required") const;
  // The same for the message at this place, which must have one of several fields.
  void missingOneOf(std::string_view fields) const;

 private:
  Reporter* reporter_;
  std::string path_;
};

template <class T>
struct Range {
  T low;
  T high;
};

// The value, or `otherwise` when absent or outside (which is reported).
uint64_t numberIn(const Place& place, std::optional<uint64_t> value, uint64_t otherwise,
                  Range<uint64_t> range);

struct DurationRule {
  uint64_t otherwise_ms = 0;  // when absent
  uint64_t low_ms = 0;        // 0 is always allowed where it means "no limit"
  uint64_t high_ms = 0;
  bool zero_allowed = true;
};
// In milliseconds, rounded up. duration: nullptr when absent.
uint64_t durationMs(const Place& place, const google::protobuf::Duration* duration,
                    const DurationRule& rule);
// Whole seconds of at most ten years; nullopt when absent or wrong (which is reported).
std::optional<uint32_t> durationSeconds(const Place& place,
                                        const google::protobuf::Duration* duration);

// How many elements of a list are looked at: more than `limit` are reported, not read.
int countWithin(const Place& place, int count, int limit);

// A name for statistics and references: required, of letters, digits, '_', '-' and '.', distinct.
class Names {
 public:
  // kind: "listener", "cluster" or "cache". False (and reported) if the name cannot be used.
  bool add(const Place& place, const std::string& name, std::string_view kind, uint32_t index);
  // A name that was checked before.
  void addKnown(const std::string& name, uint32_t index) { indexes_.emplace(name, index); }
  std::optional<uint32_t> find(const std::string& name) const;
  // The index of the name, or kNone after reporting that it is unknown. `list` is the path of the
  // messages that bear such names; when one of them could not be read, nothing is reported.
  uint32_t resolve(const Place& place, const std::string& name, std::string_view kind,
                   std::string_view list);
  bool used(uint32_t index) const { return used_.contains(index); }

 private:
  std::map<std::string, uint32_t> indexes_;
  std::set<uint32_t> used_;
};

inline constexpr size_t kMaxNameBytes = 128;
inline constexpr size_t kMaxHostNameBytes = 253;

// The address in its shortest spelling; nullopt if the text is no IPv4 or IPv6 address in numbers.
std::optional<std::string> canonicalIp(const std::string& text);

struct AddressRule {
  bool host_names = false;  // besides IP addresses
  uint32_t lowest_port = 0;
};
// nullopt after reporting what is wrong.
std::optional<SocketAddress> compileAddress(const Place& place, const pb::Address* address,
                                            const AddressRule& rule);

// A host name of letters, digits, '-', '_' and dots.
bool isHostName(std::string_view text);

}  // namespace config
