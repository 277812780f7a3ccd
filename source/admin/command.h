// What the admin can be asked: a table of commands, each a path with the parameters it takes, and
// the dispatch of one request to one of them. Nothing here knows of sockets.
//
//   no such path                     404, with the list of commands
//   a mutating command not by POST   405
//   a page from another site's form  403
//   a parameter unknown or malformed 400, naming it and what is allowed
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "source/admin/arguments.h"
#include "source/admin/control.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"
#include "source/rt/task_group.h"
#include "source/telemetry/counters.h"

namespace admin {

inline constexpr std::string_view kText = "text/plain; charset=UTF-8";
inline constexpr std::string_view kHtml = "text/html; charset=UTF-8";
inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

struct Reply {
  uint16_t status = 200;
  std::string_view content_type = kText;
  std::string body;
  std::string_view allow;  // for 405
  bool then_quit = false;  // the process is to end once this is sent
};
inline Reply text(uint16_t status, std::string body) {
  return {status, kText, std::move(body)};
}
inline Reply json(std::string body) {
  return {200, kJson, std::move(body)};
}
inline Reply okay() {
  return {200, kText, "OK\n"};
}

#define ADMIN_METRICS(X)                                                                  \
  X(counter, downstream_cx_total, "Connections accepted by the admin")                    \
  X(gauge, downstream_cx_active, "Connections of the admin that are open")                \
  X(counter, downstream_cx_idle_timeout, "Connections of the admin closed for silence")   \
  X(counter, downstream_cx_evicted, "Unused connections of the admin closed for another") \
  X(counter, downstream_cx_shed, "Connections of the admin refused: all were busy")       \
  X(counter, downstream_rq_total, "Requests to the admin")                                \
  X(counter, downstream_rq_2xx, "Requests that the admin answered with 2xx")              \
  X(counter, downstream_rq_4xx, "Requests that the admin answered with 4xx")              \
  X(counter, downstream_rq_5xx, "Requests that the admin answered with 5xx")              \
  X(counter, downstream_rq_over_limit, "Requests to the admin refused at one of its limits")
TELEMETRY_METRICS(AdminStats, ADMIN_METRICS);

// Counters as they stood at the last /reset_counters, by series.
using Baseline = std::map<std::string, uint64_t, std::less<>>;

// What the commands work on. It outlives every request.
struct Context {
  rt::Reactor& reactor;
  Control& control;
  rt::TaskGroup& background;  // what goes on after its answer: draining
  AdminStats stats;
  Baseline baseline;
};

struct Parameter {
  enum class Kind : uint8_t { flag, value, choice, repeated };
  std::string_view name;
  Kind kind = Kind::value;
  std::string_view help;
  std::span<const std::string_view> choices;  // of a choice
};

struct Command {
  std::string_view path;
  std::string_view help;
  bool mutates = false;  // then only POST will do
  std::span<const Parameter> parameters;
  bool names_are_free = false;  // the command itself judges parameters that are not listed
  // `arguments` have been checked against `parameters`, and outlive the task.
  rt::Task<Reply> (*run)(Context& context, const Arguments& arguments) = nullptr;
};

// In the order of their paths.
std::span<const Command> commands();
const Command* findCommand(std::string_view path);
// The list for /help and for unknown paths.
std::string helpText();

struct Request {
  std::string_view method;
  std::string_view path;  // as received
  std::string_view query;
  std::string_view host;    // the Host field
  std::string_view origin;  // the Origin field; empty: none
  std::string_view form;    // the body, if it is a form
};
// `request` borrows from memory that outlives the task. The answer to HEAD carries its body; the
// caller leaves it out.
rt::Task<Reply> dispatch(Context& context, Request request);

// nullopt, or what is wrong with the arguments.
std::optional<std::string> checkArguments(const Command& command, const Arguments& arguments);

}  // namespace admin
