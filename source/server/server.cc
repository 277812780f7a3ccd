#include "source/server/server.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "source/server/device.h"

namespace server {
namespace {

constexpr uint32_t kControlBuffers = 256;
constexpr uint32_t kControlTasks = 4096;
constexpr uint64_t kHousekeeping_ns = base::kSecond_ns;
constexpr uint64_t kLogEvery_ns = 100 * base::kMillisecond_ns;

std::vector<int> allowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus.empty() ? std::vector<int>{0} : cpus;
}

void raiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

telemetry::LogLevel levelOf(config::LogLevel level) {
  return static_cast<telemetry::LogLevel>(level);
}
static_assert(static_cast<int>(config::LogLevel::off) ==
              static_cast<int>(telemetry::LogLevel::off));

}  // namespace

Server::Server(const Options& options) : options_(options) {}

Server::~Server() {
  for (const int fd : {access_log_fd_, signal_fd_}) {
    if (fd >= 0) {
      close(fd);
    }
  }
}

void Server::fail(const std::string& sentence) {
  std::fprintf(stderr, "ringfence: %s\n", sentence.c_str());
}

void Server::say(telemetry::LogLevel level, const std::string& text) {
  if (log_ != nullptr) {
    log_->write(level, text);
  }
}

bool Server::loadFirst() {
  sources_.path = options_.config_path;
  sources_.overlay_yaml = options_.config_yaml;
  config::LoadReport report;
  std::optional<config::LoadedConfig> loaded = config::load(sources_, report);
  for (const config::Finding& warning : report.warnings) {
    std::fprintf(stderr, "ringfence: warning: %s\n", warning.text().c_str());
  }
  if (!loaded.has_value()) {
    std::fprintf(stderr, "%s", report.text().c_str());
    return false;
  }
  config_ = std::move(*loaded);
  config_loaded_unix_s_ = time(nullptr);
  return true;
}

bool Server::openControl() {
  cpus_ = allowedCpus();
  uint32_t shards = options_.concurrency.value_or(config_.snapshot->runtime.shards);
  shards = shards == 0 ? static_cast<uint32_t>(cpus_.size()) : shards;
  if (shards > 256) {
    fail("runtime.shards: 256 at most");
    return false;
  }
  if (shards <= cpus_.size()) {
    shard_of_cpu_.assign(static_cast<size_t>(cpus_.back()) + 1, -1);
    for (uint32_t i = 0; i < shards; i++) {
      shard_of_cpu_[static_cast<size_t>(cpus_[i])] = static_cast<int32_t>(i);
    }
  }
  mesh_ = std::make_unique<rt::Mesh>(static_cast<uint16_t>(shards + 1));
  const base::ShardId self{static_cast<uint16_t>(shards)};
  const std::string refused =
      engines_.open(config_.snapshot->runtime, static_cast<uint16_t>(shards));
  if (!refused.empty()) {
    fail(refused);
    return false;
  }
  if (engines_.fellBack()) {
    const bool without = config_.snapshot->runtime.ring != config::RingConfig();
    say(telemetry::LogLevel::warning, engines_.reason() + "; running on epoll" +
                                          (without ? ", and runtime.ring is without effect" : ""));
  }
  Engines::Made made = engines_.make(self, {});
  if (made.engine == nullptr) {
    fail(made.error);
    return false;
  }
  engine_ = std::move(made.engine);
  reactor_ = std::make_unique<rt::Reactor>(*engine_);
  peers_ = std::make_unique<rt::Peers>(*reactor_, *mesh_, self);
  receive_ = std::make_unique<rt::ReceivePool>(*engine_, kControlBuffers);
  reloading_ = std::make_unique<rt::Credits>(1);
  tasks_ = std::make_unique<rt::TaskGroup>(*reactor_, kControlTasks);
  signals_ = std::make_unique<rt::TaskGroup>(*reactor_, 1);
  resolver_ = std::make_unique<DnsResolver>(*reactor_);
  refresher_ = std::make_unique<upstream::DnsRefresher>(*reactor_, *resolver_, *this, random_);
  started_ns_ = engine_->monotonic().ns;
  return true;
}

// The reads of one shard on one disk: the smallest of what the caches' devices allow.
uint32_t Server::diskReads(uint16_t shards) const {
  const uint32_t asked = config_.snapshot->runtime.max_disk_reads_per_shard;
  if (asked > 0) {
    return asked;
  }
  uint32_t reads = store::kDefaultReads;
  for (const std::vector<Directory>& directories : directories_) {
    for (const Directory& directory : directories) {
      if (directory.files != nullptr) {
        reads =
            readsPerShard(deviceQueue(directory.files->stripes().front().data_fd), shards, reads);
      }
    }
  }
  return reads;
}

bool Server::startShards() {
  const uint16_t shards = static_cast<uint16_t>(mesh_->size() - 1);
  const uint32_t disk_reads = diskReads(shards);
  for (uint16_t i = 0; i < shards; i++) {
    ShardThread::Setup setup;
    setup.options.id = base::ShardId{i};
    setup.options.shards = shards;
    setup.options.buffer_pool_bytes = config_.snapshot->runtime.buffer_pool_bytes_per_shard;
    setup.options.max_connections = config_.snapshot->runtime.max_connections_per_shard;
    setup.options.disk_reads = disk_reads;
    setup.options.busy_poll.longest_ns = config_.snapshot->runtime.busy_poll.duration_ns;
    setup.options.busy_poll.budget_percent = config_.snapshot->runtime.busy_poll.cpu_budget_percent;
    setup.options.seed = static_cast<uint64_t>(time(nullptr)) * 1000003 + i;
    setup.cpu = shard_of_cpu_.empty() ? -1 : cpus_[i];
    setup.mesh = mesh_.get();
    setup.engines = &engines_;
    setup.aio_files = aio_files_;
    setup.sockets = &sockets_;
    setup.caches = &caches_;
    auto thread = std::make_unique<ShardThread>(setup);
    const std::string error = thread->start();
    if (!error.empty()) {
      fail("shard " + std::to_string(i) + ": " + error);
      return false;
    }
    shards_.push_back(std::move(thread));
  }
  return true;
}

bool Server::openAdmin() {
  if (!config_.snapshot->admin.has_value()) {
    return true;
  }
  const config::SocketAddress& asked = *config_.snapshot->admin;
  const std::optional<net::Address> address = net::Address::parse(asked.host, asked.port);
  net::ListenerSpec spec;
  spec.address = address.value_or(net::Address());
  spec.steering = net::Steering::hash;
  std::string why_not;
  base::Result<net::ListenerGroup> group = net::openListeners(spec, 1, {}, why_not);
  if (!group.ok()) {
    fail("admin.address: " + why_not);
    return false;
  }
  admin_group_ = std::move(group.value());
  if (!options_.admin_address_path.empty()) {
    // Renamed into place, so that a reader never sees half an address.
    const std::string temporary = options_.admin_address_path + ".new";
    std::ofstream file(temporary);
    file << admin_group_.address().text();
    file.close();
    if (!file || rename(temporary.c_str(), options_.admin_address_path.c_str()) != 0) {
      fail("--admin-address-path " + options_.admin_address_path + ": cannot be written");
      return false;
    }
  }
  admin_ = std::make_unique<admin::AdminServer>(*reactor_, *receive_, sockets_, *this);
  return true;
}

int Server::run() {
  if (!loadFirst()) {
    return kExitFailed;
  }
  if (options_.mode == Mode::validate) {
    std::printf("configuration %s OK\n", options_.config_path.c_str());
    return kExitOk;
  }
  raiseFileLimit();
  telemetry::OperatorLogOptions log_options;
  log_options.path = log_path_ = config_.snapshot->logging.path;
  log_options.level = options_.log_level.value_or(levelOf(config_.snapshot->logging.level));
  std::string why_not;
  log_ = telemetry::OperatorLog::open(log_options, why_not);
  if (log_ == nullptr) {
    fail("logging.path: " + why_not);
    return kExitFailed;
  }
  // Blocked before any thread starts: signals are read from a descriptor by the control thread
  // alone.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1}) {
    sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  const bool ready = openControl() && openCaches() && openAdmin() && startShards();
  bool served = false;
  if (reactor_ != nullptr) {
    rt::TaskGroup main_task(*reactor_, 1);
    quitting_ = !ready;
    const bool spawned = main_task.spawn(serve());
    CHECK(spawned);
    reactor_->run();
    served = ready && main_task.size() == 0 && !reloads_.empty() && reloads_.front().ok;
  }
  for (const std::unique_ptr<ShardThread>& shard : shards_) {
    shard->join();
  }
  if (!shards_.empty()) {
    drainLogs();
  }
  admin_.reset();
  admin_group_.closeAll();
  listeners_.clear();
  refresher_.reset();
  resolver_.reset();
  tasks_.reset();
  signals_.reset();
  peers_.reset();
  reloading_.reset();
  receive_.reset();
  reactor_.reset();
  shards_.clear();
  engine_.reset();
  return served ? kExitOk : kExitFailed;
}

// The control thread's life.
rt::Task<void> Server::serve() {
  bool applied = false;
  if (!quitting_) {
    state_ = admin::State::initializing;
    const base::Status resolving = resolver_->start();
    if (!resolving.ok()) {
      say(telemetry::LogLevel::error, "names cannot be resolved: no thread for it");
    }
    const bool watching = signals_->spawn(signalLoop());
    CHECK(watching);
    if (admin_ != nullptr) {
      const bool answering = tasks_->spawn(admin_->serve(admin_group_.fds()[0], tasks_->scope()));
      CHECK(answering);
    }
    admin::ReloadReport first = co_await loadAndApply("start");
    applied = first.ok;
    for (const std::string& error : first.errors) {
      fail(error);
    }
  }
  if (applied) {
    state_ = admin::State::live;
    std::string where;
    for (const OpenListener& listener : listeners_) {
      where += " " + listener.name + "=" + listener.group.address().text();
    }
    say(telemetry::LogLevel::info, "ringfence " + std::string(kVersion) +
                                       " is live: " + std::to_string(shardCount()) + " shards on " +
                                       engines_.name() + ", listening on" + where);
    watching_ = !options_.config_path.empty() && watcher_.open(options_.config_path).ok();
    const bool tidying = tasks_->spawn(housekeeping());
    CHECK(tidying);
    const bool logging = tasks_->spawn(logLoop());
    CHECK(logging);
    if (watching_) {
      const bool looking = tasks_->spawn(watchLoop());
      CHECK(looking);
    }
    rt::CancelScope never;
    while (!quitting_) {
      co_await rt::Sleep(reactor_->now() + 20 * base::kMillisecond_ns, never);
    }
  }
  co_await shutDown();
  reactor_->stop();
}

rt::Task<void> Server::callOne(uint16_t shard, rt::CallHeader* call) {
  static_cast<void>(co_await peers_->call(base::ShardId{shard}, *call));
}

// Events.

rt::Task<void> Server::signalLoop() {
  rt::CancelScope& scope = signals_->scope();
  bool terminating = false;
  while (true) {
    signalfd_siginfo signal{};
    const rt::IoResult result = co_await rt::FileOp(rt::OpKind::read, signal_fd_,
                                                    std::as_writable_bytes(std::span(&signal, 1)),
                                                    rt::kStreamOffset, false, scope, base::kNever);
    if (!result.ok()) {
      co_return;
    }
    switch (signal.ssi_signo) {
      case SIGHUP:
      case SIGUSR1:
        // Beside this loop, so that a signal to stop is heard meanwhile.
        if (!tasks_->scope().requested()) {
          static_cast<void>(tasks_->spawn(onSignal(static_cast<int>(signal.ssi_signo))));
        }
        break;
      default:
        if (terminating) {
          say(telemetry::LogLevel::warning, "a second signal: exiting at once");
          log_->flush();
          _exit(kExitOk);
        }
        terminating = true;
        quit();
    }
  }
}

rt::Task<void> Server::onSignal(int signal) {
  if (signal == SIGHUP) {
    static_cast<void>(co_await reload("signal"));
  } else {
    co_await reopenLogs();
  }
}

void Server::quit() {
  quitting_ = true;
}

rt::Task<void> Server::watchLoop() {
  rt::CancelScope& scope = tasks_->scope();
  const auto read = [this] {
    std::ifstream file(options_.config_path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string seen = read();
  while (co_await watcher_.changed(*reactor_, scope)) {
    std::string now = read();
    if (now != seen && !now.empty()) {
      seen = std::move(now);
      static_cast<void>(co_await reload("file"));
    }
  }
}

// Writes what the shards have to say.
rt::Task<void> Server::logLoop() {
  rt::CancelScope& scope = tasks_->scope();
  while (co_await rt::Sleep(reactor_->now() + kLogEvery_ns, scope)) {
    drainLogs();
  }
}

void Server::drainLogs() {
  log_dropped_.resize(shards_.size());
  for (uint16_t i = 0; i < shards_.size(); i++) {
    log_->drain(shards_[i]->log(), i, log_dropped_[i]);
  }
}

rt::Task<void> Server::housekeeping() {
  rt::CancelScope& scope = tasks_->scope();
  while (co_await rt::Sleep(reactor_->now() + kHousekeeping_ns, scope)) {
    std::erase_if(retired_, [](const auto& snapshot) { return snapshot.use_count() == 1; });
    sweepLeaving();
    sweepSizes();
    log_->flush();
  }
}

}  // namespace server
