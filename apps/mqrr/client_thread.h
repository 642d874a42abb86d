#pragma once

#include "mqrr/client.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace mqsteer::rr_kernel {

/// What the threads of a run share. Times are of now_ns(); 0: not yet.
struct Run {
  const ClientConfig* config = nullptr;
  std::atomic<unsigned> connected{0};
  std::atomic<std::uint64_t> measure_from{0};  ///< set once all are connected
  std::atomic<std::uint64_t> measure_to{0};
  std::atomic<std::uint64_t> heard{0};  ///< of the latest response of any thread
  std::atomic<bool> stalled{false};     ///< nothing was heard for too long; set before stop
  std::atomic<bool> stop{false};        ///< end now, whatever the time
};

/// One thread's share of the connections.
class ClientThread {
 public:
  ClientThread(Run& run, unsigned connections);

  /// Connects, asks and listens until the run ends.
  void loop();

  /// Ends the wait of a thread with one connection, once Run::stop is set. Any thread.
  void wake() const noexcept;

  Histogram latency;
  std::vector<std::uint64_t> series;
  std::uint64_t transactions = 0;
  unsigned lost = 0;
  unsigned wrong = 0;    ///< of the lost ones
  unsigned silent = 0;   ///< counted when the loop ends
  std::string lost_why;  ///< of the first one lost
  std::string failure;   ///< why a connection could not be opened; empty: none

 private:
  enum class State : std::uint8_t { kConnecting, kIdle, kAsking, kClosed };
  struct Connection {
    Descriptor socket;
    State state = State::kClosed;
    std::uint8_t byte = 0;       ///< that the request is made of
    std::uint32_t sent = 0;      ///< of the request
    std::uint32_t received = 0;  ///< of the response
    std::uint64_t asked_at = 0;
  };

  void listen();
  void ask_all();
  void open_more();
  bool open(Connection& connection, unsigned index);
  void ready(unsigned index, std::uint32_t events);
  void connected(Connection& connection, unsigned index);
  void ask(Connection& connection, unsigned index, std::uint64_t now);
  void write_some(Connection& connection, unsigned index);
  void read_some(Connection& connection, unsigned index, int flags);
  void complete(const Connection& connection, std::uint64_t now);
  void count_silent();
  /// Counts it once, however often it is called. error: of errno, or 0
  void lose(Connection& connection, int error, const char* what);
  void watch(Connection& connection, unsigned index, bool writable);

  static constexpr unsigned kMostConnecting = 512;

  Run& run_;
  Descriptor poll_;
  std::vector<Connection> connections_;
  std::vector<std::uint8_t> request_;
  std::vector<std::uint8_t> response_;
  unsigned opened_ = 0;
  unsigned connecting_ = 0;
  std::uint64_t heard_ = 0;
  std::atomic<int> alone_{-1};  ///< the socket of a thread's only connection, which waits in recv()
  bool asking_ = false;
};

}  // namespace mqsteer::rr_kernel
