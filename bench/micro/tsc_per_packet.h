#pragma once

#include <benchmark/benchmark.h>
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

namespace mqsteer::bench {

/// From its making to its end: the TSC cycles a packet that the thread ran, into the benchmark's
/// `tsc_cycles`. Time in which the CPU was given to others does not count.
class TscPerPacket {
 public:
  TscPerPacket(benchmark::State& state, std::size_t packets)
      : state_{state}, packets_{packets}, start_{now()} {}
  TscPerPacket(const TscPerPacket&) = delete;
  TscPerPacket& operator=(const TscPerPacket&) = delete;
  ~TscPerPacket() {
    const Clocks end = now();
    const double tsc_per_ns = (end.tsc - start_.tsc) / (end.wall_ns - start_.wall_ns);
    const auto packets = static_cast<double>(state_.iterations()) * static_cast<double>(packets_);
    state_.counters["tsc_cycles"] = (end.thread_ns - start_.thread_ns) * tsc_per_ns / packets;
    state_.SetItemsProcessed(static_cast<std::int64_t>(packets));
  }

 private:
  struct Clocks {
    double tsc, wall_ns, thread_ns;
  };
  static double read_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  static Clocks now() {
    return {static_cast<double>(__rdtsc()), read_ns(CLOCK_MONOTONIC),
            read_ns(CLOCK_THREAD_CPUTIME_ID)};
  }

  benchmark::State& state_;
  std::size_t packets_;
  Clocks start_;
};

}  // namespace mqsteer::bench
