#include "control/text_parts.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace mqsteer {
namespace {

/// A view shows the drops by reason as rows up to this many workers, which then are the columns.
constexpr std::size_t kMostWorkerColumns = 8;

Cell count_cell(std::uint64_t drops) {
  return {std::to_string(drops), drops == 0 ? Colour::kPlain : Colour::kRed};
}

/// Reasons as rows: "TOTAL" where there are totals, and a column for each worker.
std::string drops_by_reason(const Json& workers, const Json* totals, const Paint& paint) {
  std::vector<std::string> titles = {"<DROPS BY REASON"};
  if (totals != nullptr) titles.emplace_back("TOTAL");
  for (const Json& worker : workers) titles.push_back("WORKER " + plain(worker.at("worker")));
  TextTable table{titles};
  const Json& reasons = totals != nullptr ? *totals : workers.at(0).at("drops");
  for (const auto& [reason, total] : reasons.items()) {
    std::vector<Cell> row = {{reason}};
    if (totals != nullptr) row.push_back(bad(*totals, reason.c_str()));
    for (const Json& worker : workers) row.push_back(bad(worker.at("drops"), reason.c_str()));
    table.add(std::move(row));
  }
  return table.text(paint);
}

std::string drops_by_worker(const Json& workers, const Paint& paint) {
  std::vector<std::string> titles = {"WORKER"};
  for (const auto& [reason, count] : workers.at(0).at("drops").items()) titles.push_back(reason);
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker")};
    for (const auto& [reason, count] : worker.at("drops").items()) {
      row.push_back(bad(worker.at("drops"), reason.c_str()));
    }
    table.add(std::move(row));
  }
  return table.text(paint);
}

std::uint64_t sum_over(const Json& workers, const char* name) {
  std::uint64_t sum = 0;
  for (const Json& worker : workers) sum += worker.at(name).get<std::uint64_t>();
  return sum;
}

/// A member's name as a title: "HANDED OVER".
std::string title_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return name;
}

/// Where the flows of the workers went; empty where no flow ever left the straight way.
std::string hops_text(const Json& workers, const Paint& paint) {
  std::vector<const char*> shown;
  for (const char* name : {"wrong_worker", "handed_over", "taken_over", "originated"}) {
    if (sum_over(workers, name) != 0) shown.push_back(name);
  }
  if (shown.empty()) return "";
  std::vector<std::string> titles = {"WORKER"};
  for (const char* name : shown) titles.push_back(title_of(name));
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker")};
    for (const char* name : shown) row.push_back(cell(worker, name));
    table.add(std::move(row));
  }
  return '\n' + table.text(paint);
}

/// What the order check found; empty where it never looked.
std::string order_text(const Json& workers, const Paint& paint) {
  if (sum_over(workers, "order_checked") + sum_over(workers, "order_unjudged") == 0) return "";
  TextTable table{{"WORKER", "ORDER CHECKED", "REORDERED", "UNJUDGED"}};
  for (const Json& worker : workers) {
    table.add({cell(worker, "worker"), cell(worker, "order_checked"), bad(worker, "reordered"),
               cell(worker, "order_unjudged")});
  }
  return '\n' + table.text(paint);
}

/// What the handlers count, a row each, those that are 0 everywhere left out: the sum, and the
/// workers where they fit.
std::string handler_text(const Json& workers, const Paint& paint) {
  if (workers.empty() || workers.at(0).at("handler").empty()) return "";
  const bool each = workers.size() <= kMostWorkerColumns;
  std::vector<std::string> titles = {"<HANDLER", "TOTAL"};
  for (const Json& worker : workers) {
    if (each) titles.push_back("WORKER " + plain(worker.at("worker")));
  }
  TextTable table{titles};
  bool any = false;
  for (const auto& [name, first] : workers.at(0).at("handler").items()) {
    std::uint64_t sum = 0;
    std::vector<Cell> row = {{tame(name)}, {}};
    for (const Json& worker : workers) {
      const Json& value = worker.at("handler").at(name);
      sum += value.get<std::uint64_t>();
      if (each) row.push_back({plain(value)});
    }
    row[1] = {std::to_string(sum)};
    any = any || sum != 0;
    if (sum != 0) table.add(std::move(row));
  }
  return any ? '\n' + table.text(paint) : "";
}

}  // namespace

std::string worker_table(const Json& workers, bool busy, const Paint& paint) {
  std::vector<std::string> titles = {"WORKER", "LCORE", "<STATE", "BUCKETS",  "PACKETS", "BACKLOG",
                                     "MOVES",  "HELD",  "TX",     "CONSUMED", "DROPS"};
  if (busy) titles.emplace_back("BUSY SINCE START");
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker"),
                             cell(worker, "lcore"),
                             state_cell(worker),
                             cell(worker, "buckets"),
                             cell(worker, "packets"),
                             cell(worker, "backlog"),
                             cell(worker, "moves"),
                             cell(worker, "moves_held"),
                             cell(worker, "tx"),
                             cell(worker, "consumed"),
                             count_cell(sum_of(worker.at("drops")))};
    if (busy) row.push_back({percent(worker.at("busy_share").get<double>())});
    table.add(std::move(row));
  }
  return table.text(paint);
}

std::string more_of_workers(const Json& workers, const Paint& paint) {
  return hops_text(workers, paint) + order_text(workers, paint) + handler_text(workers, paint);
}

std::string drops_table(const Json& workers, const Json* totals, const Paint& paint) {
  if (workers.size() <= kMostWorkerColumns && (totals != nullptr || !workers.empty())) {
    return drops_by_reason(workers, totals, paint);
  }
  std::string text = workers.empty() ? "" : drops_by_worker(workers, paint);
  if (totals != nullptr) text += '\n' + drops_by_reason(Json::array(), totals, paint);
  return text;
}

}  // namespace mqsteer
