#include "control/text_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace mqsteer {
namespace {

/// The largest of the listed workers' figures over the mean and the least.
std::string spread_text(const Json& workers, const char* figure) {
  std::vector<double> values;
  for (const Json& worker : workers) {
    if (worker.at("state") == "listed") values.push_back(worker.at(figure).get<double>());
  }
  if (values.empty()) return "-";
  double sum = 0;
  for (const double value : values) sum += value;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (sum == 0) return "-";
  const double mean = sum / static_cast<double>(values.size());
  return "max/mean " + decimal(*most / mean, 2) + ", max/min " +
         (*least == 0 ? "-" : decimal(*most / *least, 2));
}

/// The state of rfs's table of flows, in half a sentence.
std::string rfs_text(const Json& rfs) {
  return plain(rfs.at("used")) + " of " + plain(rfs.at("entries")) + " places taken, " +
         plain(rfs.at("displaced")) + " flows lost theirs to others, " + plain(rfs.at("pins")) +
         " pinned";
}

/// The settings, and what they have of their own to tell; a line each kind.
std::string steering_settings(const Json& answer) {
  std::string text = "mode " + plain(answer.at("mode")) + ", hash " + plain(answer.at("hash")) +
                     " (" + plain(answer.at("hash_function")) + "), symmetric " +
                     plain(answer.at("symmetric"));
  if (answer.at("buckets") != 0) text += ", " + plain(answer.at("buckets")) + " buckets";
  text += "\ntunnels " + plain(answer.at("tunnels")) + ", fragments " +
          plain(answer.at("fragments")) + ", flow limit " + plain(answer.at("flow_limit")) +
          ", TX guard " + plain(answer.at("tx_guard")) + ", order check " +
          plain(answer.at("order_check")) + '\n';
  if (answer.at("mode") == "soft-rss") {
    text += "hash bits " + plain(answer.at("rss_bits")) + ", balance " +
            plain(answer.at("balance")) + " (" + plain(answer.at("balanced")) +
            " buckets moved so far)\n";
  }
  if (answer.at("fragments") == "track") text += fragments_text(answer.at("fragment_counts"));
  const Json& rfs = answer.at("rfs");
  if (!rfs.is_null()) {
    text += "flows: room for " + plain(answer.at("rfs_flows")) + "; " + rfs_text(rfs) + '\n';
  }
  return text;
}

std::string why_text(const std::string& why) {
  if (why == "bucket") return "its bucket's worker";
  if (why == "consumer") return "where it was last consumed";
  if (why == "pin") return "it is pinned there";
  if (why == "consumer_gone") {
    return "its bucket's worker, since the one it was consumed at or pinned to gets no flows";
  }
  return why;
}

std::string moves_text(const std::string& moves) {
  if (moves == "settled") return "not now: it is where it should be, or its next packet will be";
  if (moves == "held") return "at once; what comes meanwhile is held, in order";
  if (moves == "drained") {
    return "when nothing of it is outstanding at the old worker, where it stays until then";
  }
  return moves;
}

std::string pin_state_text(const std::string& state) {
  if (state == "waits") return "waits for mode rfs";
  if (state == "worker_gone") return "no effect: the worker gets no flows";
  if (state == "no_place")
    return "no effect: other pins have its places; unpin one, and pin it again";
  return state;
}

/// Where an RX lcore has the flow's bucket now.
std::string at_text(const Json& at) {
  if (at.at("held").get<bool>()) return "its packets are held here until it has moved";
  if (at.at("worker").is_null()) return "no packet of its bucket yet";
  return at.at("drained").get<bool>() ? "nothing of it is outstanding there"
                                      : "packets of it are outstanding there";
}

}  // namespace

std::string steering_show_text(const Json& answer, const Paint& paint) {
  const Json& workers = list(answer, "workers");
  const auto buckets = answer.at("buckets").get<std::uint64_t>();
  TextTable table{{"WORKER", "LCORE", "<STATE", "WEIGHT", "BUCKETS", "SHARE", "PACKETS", "SHARE"}};
  for (const Json& worker : workers) {
    const double of = buckets == 0 ? 0 : worker.at("buckets").get<double>() / double(buckets);
    table.add({cell(worker, "worker"),
               cell(worker, "lcore"),
               state_cell(worker),
               cell(worker, "weight"),
               cell(worker, "buckets"),
               {percent(of)},
               cell(worker, "packets"),
               {percent(worker.at("share").get<double>())}});
  }
  return steering_settings(answer) + '\n' + table.text(paint) +
         "\nbuckets: " + spread_text(workers, "buckets") +
         "\npackets: " + spread_text(workers, "packets") + '\n';
}

std::string steering_set_text(const Json& answer, const Paint& paint) {
  const std::string buckets = plain(answer.at("buckets"));
  std::string text =
      plain(answer.at("changed_buckets")) + " of " + buckets + " buckets changed their worker";
  if (answer.at("new_table").get<bool>()) {
    text = buckets == "0" ? "no buckets any more: a packet stays at the lcore that receives it"
                          : "a new table of " + buckets + " buckets, in the shares below";
  }
  return text + "\n\n" + steering_show_text(answer, paint);
}

std::string flow_explain_text(const Json& answer, const Paint& paint) {
  std::string text = "flow:    " + plain(answer.at("flow")) +
                     "\nkey:     " + plain(answer.at("kind")) + ", " + plain(answer.at("key")) +
                     "\nhash:    " + plain(answer.at("hash")) + " (" +
                     plain(answer.at("hash_function")) + ")\nmode:    " + plain(answer.at("mode"));
  if (answer.at("bucket").is_null()) {
    return text + "\nworker:  that of the lcore which receives it, whatever its hash\n";
  }
  text += "\nbucket:  " + plain(answer.at("bucket")) + " of " + plain(answer.at("buckets")) +
          "\nwanted:  at worker " + plain(answer.at("desired")) + ", " +
          why_text(plain(answer.at("why"))) +
          "\nmoves:   " + moves_text(plain(answer.at("moves"))) + "\n\n";
  TextTable table{{"RX LCORE", "WORKER NOW", "<STATE"}};
  for (const Json& at : list(answer, "current")) {
    table.add({cell(at, "lcore"), cell(at, "worker"), {at_text(at)}});
  }
  return text + table.text(paint);
}

std::string flow_show_text(const Json& answer, const Paint& paint) {
  const Json& rfs = answer.at("rfs");
  std::string text = rfs.is_null()
                         ? "mode rfs is off: no flow is remembered, and pins wait for it\n"
                         : "flows: " + rfs_text(rfs) + '\n';
  if (list(answer, "pins").empty()) return text + "no flow is pinned\n";
  TextTable table{{"<PINNED FLOW", "WORKER", "<STATE"}};
  for (const Json& pin : answer.at("pins")) {
    const bool good = pin.at("state") == "pinned";
    table.add({cell(pin, "flow"),
               cell(pin, "worker"),
               {pin_state_text(plain(pin.at("state"))), good ? Colour::kPlain : Colour::kYellow}});
  }
  return text + '\n' + table.text(paint);
}

}  // namespace mqsteer
