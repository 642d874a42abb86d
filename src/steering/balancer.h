#pragma once

#include <mqsteer/id.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mqsteer {

/// The load balancer of soft-rss: says which buckets should go to which worker, from what was
/// measured since the last round. Pure: time and measurements are given, moves are only said.
///
/// Each bucket has a load, in workers: its worker's busy time, shared out by packets, and where the
/// worker is saturated scaled by offered over handled packets, since it is more than it can do. A
/// bucket takes its load along when it moves, so a move's effect is known before it is measured.
/// Loads are smoothed over kSmoothingNs.
///
/// A bucket goes from a worker that is at least source_least busy to the allowed one that is least
/// busy, where that is at most target_most busy afterwards, they differ by least_imbalance and more
/// where measurements are noisy, and the target stays clearly below what the source was. Never the
/// only bucket with packets. The largest that take no more than half of the difference go first, so
/// that few moves suffice. The workers of a move rest until a measurement begun after it is in; the
/// bucket rests longer, and longest where it has moved often. So a static load settles, however
/// skewed: every move brings two workers closer together, and none can be undone by another.
///
/// Where a worker also receives, its receive work counts as its buckets': they seem dearer than
/// they are, and moves are more careful than they need be, not less.
///
/// thread: one, the control thread's; all memory is taken at construction
class Balancer {
 public:
  struct Config {
    std::size_t workers = 0;  ///< at least 1
    std::size_t buckets = 0;  ///< at least 1
    double source_least = 0.70;
    double target_most = 0.95;
    double least_imbalance = 0.03;
  };
  struct WorkerSample {
    double busy = 0;            ///< 0..1, of the time since the last round
    std::uint64_t handled = 0;  ///< packets it took from its backlogs since the last round
    bool allowed = true;        ///< live, and may get buckets
    double backlog = 0;         ///< 0..1: how full its fullest backlog is
  };
  struct BucketSample {
    WorkerId worker;            ///< desired now
    std::uint64_t packets = 0;  ///< offered since the last round on all RX lcores, drops included
  };
  struct Move {
    std::uint32_t bucket = 0;
    WorkerId to;
  };

  static constexpr std::uint64_t kLeastRoundNs = 1'000'000;
  /// Rounds about this far apart follow a change within a second.
  static constexpr std::uint64_t kGoodRoundNs = 20'000'000;
  static constexpr std::uint64_t kSmoothingNs = 100'000'000;

  explicit Balancer(const Config& config);

  /// Whether a round may be held: kLeastRoundNs have passed since the last one.
  [[nodiscard]] bool due(std::uint64_t now_ns) const noexcept {
    return rounds_ == 0 || now_ns - round_at_ns_ >= kLeastRoundNs;
  }

  /// A round; where it is not due it says nothing and forgets the measurements.
  ///
  /// workers, buckets: as many as configured; every bucket's worker is one of them
  /// returns: moves to be made with the force bit, at most moves_a_round(), each bucket once; valid
  ///   until the next call. A move that is not made is noticed in the next round.
  [[nodiscard]] std::span<const Move> round(std::uint64_t now_ns,
                                            std::span<const WorkerSample> workers,
                                            std::span<const BucketSample> buckets) noexcept;

  /// Four, and in tables of more than 512 buckets one in 128.
  [[nodiscard]] std::size_t moves_a_round() const noexcept { return moves_a_round_; }

  /// What a worker is asked to do, smoothed; 1 is all it can, more is what it drops.
  [[nodiscard]] double load(WorkerId worker) const noexcept {
    return workers_[worker.value()].load;
  }

 private:
  struct Worker {
    double load = 0;
    double unexplained = 0;  ///< busy without any packets: receiving, or another's work
    double variance = 0;     ///< of single measurements of the load around the smoothed one
    std::uint64_t offered = 0;
    std::uint64_t rests_until_ns = 0;
    std::uint32_t measurements = 0;
    std::uint32_t active_buckets = 0;
    bool ready = false;  ///< measured since its latest move
    bool stuck = false;  ///< handles nothing of what it is offered
  };
  struct Bucket {
    double load = 0;
    std::uint64_t rests_until_ns = 0;
    std::uint64_t moved_at_ns = 0;
    std::uint16_t worker = kUnseen;
    std::uint16_t times = 0;  ///< moved lately
  };
  static constexpr std::uint16_t kUnseen = 0xffff;

  void notice_changes(std::span<const WorkerSample> workers,
                      std::span<const BucketSample> buckets) noexcept;
  void measure(std::span<const WorkerSample> workers,
               std::span<const BucketSample> buckets) noexcept;
  void measure_worker(Worker& worker, const WorkerSample& sample) noexcept;
  void add_up() noexcept;
  void relieve(std::uint16_t source, std::span<const WorkerSample> workers) noexcept;
  void relieve_by_one(std::uint16_t source, std::span<const WorkerSample> workers) noexcept;
  void list_buckets_of(std::uint16_t source) noexcept;
  [[nodiscard]] std::uint16_t target(std::span<const WorkerSample> workers) const noexcept;
  [[nodiscard]] double least_difference(const Worker& a, const Worker& b) const noexcept;
  [[nodiscard]] bool worth_it(const Worker& source, const Worker& target,
                              const Bucket& bucket) const noexcept;
  void move(std::uint32_t bucket, std::uint16_t to) noexcept;
  void rest(std::uint16_t worker, double backlog) noexcept;

  Config config_;
  std::size_t moves_a_round_;
  std::uint64_t round_at_ns_ = 0;  ///< of this or the latest round
  std::uint64_t begun_at_ns_ = 0;  ///< of what this round has measured
  std::uint64_t rounds_ = 0;
  double weight_ = 0;  ///< of a measurement in this round
  std::vector<Worker> workers_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint16_t> by_load_;  ///< workers, for one round
  std::vector<std::uint32_t> listed_;   ///< buckets of a source, the largest first
  std::vector<Move> moves_;
};

}  // namespace mqsteer
