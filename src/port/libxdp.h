#pragma once

namespace mqsteer {

/// Keeps libbpf and libxdp, which net_af_xdp uses, from writing to standard error, and makes libxdp
/// attach its program by itself, not under a dispatcher: so it is the same with and without a BPF
/// file system, leaves nothing pinned there after kill -9, and is taken over by the next run.
/// To be called before a net_af_xdp device is plugged in. Harmless when called twice.
void settle_libxdp() noexcept;

}  // namespace mqsteer
