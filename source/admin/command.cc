#include "source/admin/command.h"

#include <algorithm>

#include "source/http/head.h"

namespace admin {
namespace {

std::string join(std::span<const std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    out += out.empty() ? "" : ", ";
    out += word;
  }
  return out;
}

std::string parameterNames(const Command& command) {
  if (command.parameters.empty()) {
    return std::string(command.path) + " takes none";
  }
  std::string out = std::string(command.path) + " takes ";
  for (const Parameter& parameter : command.parameters) {
    out += &parameter == &command.parameters.front() ? "" : ", ";
    out += parameter.name;
  }
  return out;
}

std::optional<std::string> checkValue(const Parameter& parameter,
                                      const Arguments::Argument& argument) {
  static constexpr std::string_view kFlag_values[] = {"", "1", "true", "0", "false"};
  const std::string name = "parameter " + inTicks(parameter.name) + ": ";
  switch (parameter.kind) {
    case Parameter::Kind::flag:
      if (std::ranges::find(kFlag_values, argument.value) == std::end(kFlag_values)) {
        return name + inTicks(argument.value) + " is not one of 1, true, 0, false";
      }
      return std::nullopt;
    case Parameter::Kind::choice:
      if (std::ranges::find(parameter.choices, argument.value) == parameter.choices.end()) {
        return name + inTicks(argument.value) + " is not one of " + join(parameter.choices);
      }
      return std::nullopt;
    case Parameter::Kind::value:
    case Parameter::Kind::repeated:
      if (argument.value.empty()) {
        return name + "it needs a value";
      }
      return std::nullopt;
  }
  return std::nullopt;
}

// The authority of an Origin field's value; empty for "null".
std::string_view authorityOf(std::string_view origin) {
  const size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}

Reply methodNotAllowed(std::string_view method, std::string_view wanted, std::string_view allow) {
  Reply reply = text(405, "Method " + std::string(method) + " not allowed, " + std::string(wanted) +
                              " required.\n");
  reply.allow = allow;
  return reply;
}

}  // namespace

const Command* findCommand(std::string_view path) {
  for (const Command& command : commands()) {
    if (command.path == path) {
      return &command;
    }
  }
  return nullptr;
}

std::string helpText() {
  std::string out = "admin commands are:\n";
  for (const Command& command : commands()) {
    out += "  " + std::string(command.path) + (command.mutates ? " (POST)" : "") + ": " +
           std::string(command.help) + "\n";
    for (const Parameter& parameter : command.parameters) {
      out += "      " + std::string(parameter.name) + ": " + std::string(parameter.help);
      if (!parameter.choices.empty()) {
        out += "; One of (" + join(parameter.choices) + ")";
      }
      out += "\n";
    }
  }
  return out;
}

std::optional<std::string> checkArguments(const Command& command, const Arguments& arguments) {
  for (const Arguments::Argument& argument : arguments.all()) {
    const auto parameter = std::ranges::find(command.parameters, argument.name, &Parameter::name);
    if (parameter == command.parameters.end()) {
      if (command.names_are_free) {
        continue;
      }
      return "unknown parameter " + inTicks(argument.name) + ": " + parameterNames(command) +
             " (an ampersand inside a value is written %26)";
    }
    if (parameter->kind != Parameter::Kind::repeated &&
        arguments.find(argument.name) != &argument) {
      return "parameter " + inTicks(argument.name) + " is given twice";
    }
    if (std::optional<std::string> wrong = checkValue(*parameter, argument)) {
      return wrong;
    }
  }
  return std::nullopt;
}

rt::Task<Reply> dispatch(Context& context, Request request) {
  const Command* command = findCommand(request.path);
  if (command == nullptr) {
    co_return text(404, "invalid path. " + helpText());
  }
  if (command->mutates && request.method != "POST") {
    co_return methodNotAllowed(request.method, "POST", "POST");
  }
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
    co_return methodNotAllowed(request.method, "GET", "GET, HEAD, POST");
  }
  // A page of another site can make an operator's browser post here; its requests say where they
  // come from.
  if (command->mutates && !request.origin.empty() &&
      !http::equalsIgnoreCase(authorityOf(request.origin), request.host)) {
    co_return text(403, "a request from " + inTicks(request.origin) + " may not change anything\n");
  }
  Arguments arguments;
  std::optional<std::string> wrong = arguments.append(request.query, Arguments::Source::query);
  if (!wrong.has_value() && request.method == "POST") {
    wrong = arguments.append(request.form, Arguments::Source::form);
  }
  if (!wrong.has_value()) {
    wrong = checkArguments(*command, arguments);
  }
  if (wrong.has_value()) {
    co_return text(400, *wrong + "\n");
  }
  co_return co_await command->run(context, arguments);
}

}  // namespace admin
