#include "steering/balancer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace mqsteer {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kWorkerRestNs = 10 * kMs;
/// As long as a full backlog of the largest size may take to drain.
constexpr std::uint64_t kFullBacklogRestNs = 40 * kMs;
constexpr std::uint64_t kBucketRestNs = 250 * kMs;
/// A bucket's rest doubles with each move that comes within this time of the one before.
constexpr std::uint64_t kOftenNs = 10'000 * kMs;
constexpr std::uint16_t kMostTimes = 7;  ///< 16 s
/// One measurement never counts for more: rounds far apart are as noisy as others.
constexpr double kMostWeight = 0.25;
constexpr std::uint32_t kFirstMeasurements = 4;  ///< before a worker's load is believed
constexpr double kNearlyBusy = 0.90;
constexpr double kMostOverload = 16;
/// A difference must be this many times what noise alone makes of equal loads.
constexpr double kBelievedErrors = 3;
constexpr double kLeastBucketLoad = 0.001;

/// A worker's load as measured: how busy it is, and more where it is offered more than it handles.
double asked_of(const Balancer::WorkerSample& sample, std::uint64_t offered) noexcept {
  if (sample.busy < kNearlyBusy || offered == 0) return sample.busy;
  const double overload = static_cast<double>(offered) / static_cast<double>(sample.handled);
  return sample.busy * std::min(overload, kMostOverload);
}

}  // namespace

Balancer::Balancer(const Config& config)
    : config_{config},
      moves_a_round_{std::max<std::size_t>(4, config.buckets / 128)},
      workers_(config.workers),
      buckets_(config.buckets),
      by_load_(config.workers) {
  assert(config.workers > 0 && config.buckets > 0);
  listed_.reserve(config.buckets);
  moves_.reserve(moves_a_round_);
}

std::span<const Balancer::Move> Balancer::round(std::uint64_t now_ns,
                                                std::span<const WorkerSample> workers,
                                                std::span<const BucketSample> buckets) noexcept {
  assert(workers.size() == workers_.size() && buckets.size() == buckets_.size());
  moves_.clear();
  if (!due(now_ns)) return moves_;
  begun_at_ns_ = rounds_ == 0 ? now_ns : round_at_ns_;
  round_at_ns_ = now_ns;
  ++rounds_;
  notice_changes(workers, buckets);
  if (rounds_ == 1) return moves_;  // since when was counted nobody knows
  measure(workers, buckets);
  add_up();
  std::iota(by_load_.begin(), by_load_.end(), std::uint16_t{0});
  std::ranges::sort(by_load_, std::ranges::greater{},
                    [this](std::uint16_t worker) { return workers_[worker].load; });
  for (const std::uint16_t source : by_load_) {
    if (workers_[source].ready && workers_[source].load >= config_.source_least) {
      relieve(source, workers);
    }
  }
  return moves_;
}

/// Buckets that somebody moved, we ourselves included where a move was not made.
void Balancer::notice_changes(std::span<const WorkerSample> workers,
                              std::span<const BucketSample> buckets) noexcept {
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::uint16_t worker = buckets[i].worker.value();
    const std::uint16_t before = buckets_[i].worker;
    if (worker == before) continue;
    buckets_[i].worker = worker;
    if (before == kUnseen) continue;
    rest(before, workers[before].backlog);
    rest(worker, workers[before].backlog);
  }
}

void Balancer::measure(std::span<const WorkerSample> workers,
                       std::span<const BucketSample> buckets) noexcept {
  for (Worker& worker : workers_) worker.offered = 0;
  for (const BucketSample& bucket : buckets) {
    workers_[bucket.worker.value()].offered += bucket.packets;
  }
  const double span = static_cast<double>(round_at_ns_ - begun_at_ns_);
  weight_ = std::min(kMostWeight, 1 - std::exp(-span / static_cast<double>(kSmoothingNs)));
  for (std::size_t i = 0; i < workers.size(); ++i) measure_worker(workers_[i], workers[i]);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::uint16_t at = buckets[i].worker.value();
    const Worker& worker = workers_[at];
    if (begun_at_ns_ < worker.rests_until_ns || worker.stuck) continue;
    double load = 0;
    if (buckets[i].packets != 0) {
      const auto packets = static_cast<double>(buckets[i].packets);
      load = asked_of(workers[at], worker.offered) * packets / static_cast<double>(worker.offered);
    }
    const double counts = std::max(weight_, 1.0 / worker.measurements);
    buckets_[i].load += counts * (load - buckets_[i].load);
  }
}

void Balancer::measure_worker(Worker& worker, const WorkerSample& sample) noexcept {
  worker.stuck = worker.offered != 0 && sample.handled == 0;
  if (begun_at_ns_ < worker.rests_until_ns) return;
  if (worker.stuck) {
    worker.ready = true;  // to be relieved; its load stays what it was before
    return;
  }
  worker.ready = ++worker.measurements >= kFirstMeasurements;
  const double idle_busy = worker.offered == 0 ? sample.busy : 0;
  worker.unexplained += weight_ * (idle_busy - worker.unexplained);
  if (!worker.ready) return;
  const double error = asked_of(sample, worker.offered) - worker.load;
  worker.variance += weight_ * (error * error - worker.variance);
}

void Balancer::add_up() noexcept {
  for (Worker& worker : workers_) {
    worker.load = worker.unexplained;
    worker.active_buckets = 0;
  }
  for (const Bucket& bucket : buckets_) {
    Worker& worker = workers_[bucket.worker];
    worker.load += bucket.load;
    if (bucket.load > 0) ++worker.active_buckets;
  }
  for (Worker& worker : workers_) {
    if (worker.stuck) worker.load = std::max(worker.load, 1.0);
  }
}

/// The allowed worker that is least busy and was measured; kUnseen: none.
std::uint16_t Balancer::target(std::span<const WorkerSample> workers) const noexcept {
  std::uint16_t best = kUnseen;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (!workers[i].allowed || !workers_[i].ready || workers_[i].stuck) continue;
    if (best == kUnseen || workers_[i].load < workers_[best].load) {
      best = static_cast<std::uint16_t>(i);
    }
  }
  return best;
}

double Balancer::least_difference(const Worker& a, const Worker& b) const noexcept {
  // What smoothing with this weight leaves of the variance of both.
  const double left = (a.variance + b.variance) * weight_ / (2 - weight_);
  return config_.least_imbalance + kBelievedErrors * std::sqrt(left);
}

bool Balancer::worth_it(const Worker& source, const Worker& target,
                        const Bucket& bucket) const noexcept {
  const double least = least_difference(source, target);
  const double after = target.load + bucket.load;
  return source.load - target.load >= least && after <= config_.target_most &&
         after <= source.load - least / 2;
}

void Balancer::list_buckets_of(std::uint16_t source) noexcept {
  const Worker& worker = workers_[source];
  // Fine-grained tables have nothing but small buckets; else a small one is not worth a move.
  const double least = std::min(kLeastBucketLoad, worker.load / (2.0 * worker.active_buckets));
  listed_.clear();
  for (std::uint32_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.worker == source && bucket.load >= least && round_at_ns_ >= bucket.rests_until_ns) {
      listed_.push_back(i);
    }
  }
  std::ranges::sort(listed_, std::ranges::greater{},
                    [this](std::uint32_t bucket) { return buckets_[bucket].load; });
}

void Balancer::relieve(std::uint16_t source, std::span<const WorkerSample> workers) noexcept {
  Worker& from = workers_[source];
  if (from.active_buckets < 2) return;
  list_buckets_of(source);
  const std::size_t moved = moves_.size();
  for (const std::uint32_t bucket : listed_) {
    const std::uint16_t to = target(workers);
    if (to == kUnseen || to == source || moves_.size() == moves_a_round_) break;
    if (from.active_buckets < 2 || from.load < config_.source_least) break;
    const double difference = from.load - workers_[to].load;
    if (difference < config_.least_imbalance) break;
    const bool half = buckets_[bucket].load <= difference / 2;
    if (half && worth_it(from, workers_[to], buckets_[bucket])) move(bucket, to);
  }
  if (moves_.size() == moved) relieve_by_one(source, workers);
  if (moves_.size() == moved) return;
  for (std::size_t i = moved; i < moves_.size(); ++i) {
    rest(moves_[i].to.value(), workers[source].backlog);
  }
  rest(source, workers[source].backlog);
}

/// All that are worth a move are larger than half of the difference: the smallest of them.
void Balancer::relieve_by_one(std::uint16_t source,
                              std::span<const WorkerSample> workers) noexcept {
  const std::uint16_t to = target(workers);
  if (to == kUnseen || to == source || moves_.size() == moves_a_round_) return;
  for (auto bucket = listed_.rbegin(); bucket != listed_.rend(); ++bucket) {
    const bool half = buckets_[*bucket].load <= (workers_[source].load - workers_[to].load) / 2;
    if (half) continue;
    if (worth_it(workers_[source], workers_[to], buckets_[*bucket])) move(*bucket, to);
    return;
  }
}

void Balancer::move(std::uint32_t index, std::uint16_t to) noexcept {
  Bucket& bucket = buckets_[index];
  workers_[bucket.worker].load -= bucket.load;
  --workers_[bucket.worker].active_buckets;
  workers_[to].load += bucket.load;
  ++workers_[to].active_buckets;
  const bool again = bucket.times != 0 && round_at_ns_ - bucket.moved_at_ns < kOftenNs;
  bucket.times = again ? std::min<std::uint16_t>(bucket.times + 1, kMostTimes) : 1;
  bucket.moved_at_ns = round_at_ns_;
  bucket.rests_until_ns = round_at_ns_ + (kBucketRestNs << (bucket.times - 1U));
  bucket.worker = to;
  moves_.push_back({index, WorkerId{to}});
}

/// backlog: of the worker whose backlog delays what has moved
void Balancer::rest(std::uint16_t worker, double backlog) noexcept {
  const double full = std::clamp(backlog, 0.0, 1.0) * static_cast<double>(kFullBacklogRestNs);
  const std::uint64_t until = round_at_ns_ + kWorkerRestNs + static_cast<std::uint64_t>(full);
  workers_[worker].rests_until_ns = std::max(workers_[worker].rests_until_ns, until);
  workers_[worker].ready = false;
}

}  // namespace mqsteer
