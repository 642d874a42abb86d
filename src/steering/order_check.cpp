#include "steering/order_check.h"

#include <rte_errno.h>

namespace mqsteer {

Expected<OrderCheck> OrderCheck::create(std::pmr::memory_resource& memory) {
  rte_mbuf_dynfield field{};
  rte_mbuf_dynflag flag{};
  rte_strscpy(field.name, "mqsteer_order_stamp", sizeof field.name);
  rte_strscpy(flag.name, "mqsteer_order_stamped", sizeof flag.name);
  field.size = sizeof(Stamp);
  field.align = alignof(Stamp);
  const int offset = rte_mbuf_dynfield_register(&field);
  const int bit = offset < 0 ? -1 : rte_mbuf_dynflag_register(&flag);
  if (offset < 0 || bit < 0) {
    return fail(rte_errno,
                "steering.order_check: DPDK's mbufs have no room left for a stamp of 16 bytes; "
                "switch it off");
  }
  return OrderCheck{offset, std::uint64_t{1} << static_cast<unsigned>(bit), memory};
}

}  // namespace mqsteer
