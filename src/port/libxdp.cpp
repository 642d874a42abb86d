#include "port/libxdp.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

namespace mqsteer {
namespace {

/// The type of both libraries' print functions; their first argument is an enum.
using Print = int (*)(int level, const char* format, va_list arguments);

int print_nothing(int /*level*/, const char* /*format*/, va_list /*arguments*/) {
  return 0;
}

/// The libraries come with DPDK's driver and are not linked by us: only where they are loaded.
void silence(const char* library, const char* setter) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return;
  if (void* const symbol = dlsym(handle, setter); symbol != nullptr) {
    static_cast<void>(reinterpret_cast<Print (*)(Print)>(symbol)(print_nothing));
  }
  dlclose(handle);
}

}  // namespace

void settle_libxdp() noexcept {
  // Source: libxdp.3, "LIBXDP_SKIP_DISPATCHER"
  setenv("LIBXDP_SKIP_DISPATCHER", "1", 1);
  silence("libbpf.so.1", "libbpf_set_print");
  silence("libxdp.so.1", "libxdp_set_print");
}

}  // namespace mqsteer
