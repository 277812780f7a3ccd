// The command line of tools/inspect: list, verify and extract, on a cache's directory.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "source/tools/inspect/print.h"

namespace {

constexpr int kExitFaults = 1;
constexpr int kExitUsage = 2;

struct Flags {
  std::string directory;
  std::string key;
  std::string out = "object";
  bool json = false;
};

int refuse(const std::string& error) {
  std::fprintf(stderr, "inspect: %s\n", error.c_str());
  return kExitUsage;
}

base::UnixSeconds now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return base::UnixSeconds{std::chrono::duration_cast<std::chrono::seconds>(since).count()};
}

bool writeFile(const std::string& path, const char* bytes, size_t length) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes, static_cast<std::streamsize>(length));
  file.close();
  return static_cast<bool>(file);
}

// The response under exactly this key, or the one variant of it.
const inspect::Object* choose(const std::vector<inspect::Object>& objects, const std::string& key,
                              std::string& error) {
  std::vector<const inspect::Object*> like;
  for (const inspect::Object& object : objects) {
    const bool response = object.kind != store::RecordKind::vary_rule;
    if (response && inspect::printable(object.key) == key) {
      return &object;
    }
    // A variant's key goes on behind the primary key, with a byte that no URL has.
    const bool variant = object.key.size() > key.size() && object.key.starts_with(key) &&
                         (object.key[key.size()] < '!' || object.key[key.size()] > '~');
    if (response && variant) {
      like.push_back(&object);
    }
  }
  if (like.size() == 1) {
    return like.front();
  }
  error = like.empty() ? "nothing is stored under " + key
                       : key + " has " + std::to_string(like.size()) +
                             " variants; give the key of one, as `list` prints it:";
  for (const inspect::Object* object : like) {
    error += "\n  " + inspect::printable(object->key);
  }
  return nullptr;
}

int extract(const inspect::Directory& directory, const inspect::Inventory& inventory,
            const Flags& flags) {
  std::string error;
  const inspect::Object* object = choose(inventory.objects, flags.key, error);
  if (object == nullptr) {
    std::fprintf(stderr, "inspect: %s\n", error.c_str());
    return kExitFaults;
  }
  const inspect::Extracted got =
      inspect::extract(directory.stripes[object->stripe], *object, inventory.objects);
  if (!got.error.empty()) {
    std::fprintf(stderr, "inspect: %s: %s\n", flags.key.c_str(), got.error.c_str());
    return kExitFaults;
  }
  const char* body = reinterpret_cast<const char*>(got.body.data());
  if (!writeFile(flags.out + ".head", got.head.data(), got.head.size()) ||
      !writeFile(flags.out + ".body", body, got.body.size())) {
    std::fprintf(stderr, "inspect: %s.head and .body cannot be written\n", flags.out.c_str());
    return kExitFaults;
  }
  std::printf("%s.head: %zu bytes\n%s.body: %zu bytes\n", flags.out.c_str(), got.head.size(),
              flags.out.c_str(), got.body.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Looks into a cache directory; changes nothing in it");
  app.require_subcommand(1);
  Flags flags;
  CLI::App* list = app.add_subcommand("list", "The objects that are stored");
  CLI::App* verify = app.add_subcommand("verify", "Checks every byte; exit code 1 for any fault");
  CLI::App* get = app.add_subcommand("extract", "Writes one object's head and body to files");
  for (CLI::App* command : {list, verify, get}) {
    command->add_option("DIRECTORY", flags.directory, "The cache's `path`")->required();
  }
  list->add_flag("--json", flags.json, "JSON");
  verify->add_flag("--json", flags.json, "JSON");
  get->add_option("KEY", flags.key, "The URL, or a key as `list` prints it")->required();
  get->add_option("--out", flags.out, "Writes to OUT.head and OUT.body; `object` by default");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const inspect::Opened opened = inspect::openDirectory(flags.directory);
  if (opened.directory == nullptr) {
    return refuse(opened.error);
  }
  const inspect::Directory& directory = *opened.directory;
  const inspect::Inventory inventory = inspect::takeInventory(directory);
  if (get->parsed()) {
    return extract(directory, inventory, flags);
  }
  if (list->parsed()) {
    std::fputs((flags.json ? inspect::listJson(directory, inventory, now())
                           : inspect::listText(directory, inventory, now()))
                   .c_str(),
               stdout);
    return 0;
  }
  std::fputs((flags.json ? inspect::verifyJson(directory, inventory.findings)
                         : inspect::verifyText(directory, inventory.findings))
                 .c_str(),
             stdout);
  return inventory.findings.faults.empty() ? 0 : kExitFaults;
}
