#include <cstdlib>
#include <stdexcept>

#include "kernel.h"

namespace regard {

#if defined(__x86_64__)
namespace v4_bf16 { extern const Variant variant; }
namespace v4 { extern const Variant variant; }
namespace v3 { extern const Variant variant; }
#endif
namespace base { extern const Variant variant; }

std::vector<const Variant*> usable_variants() {
  std::vector<const Variant*> found;
#if defined(__x86_64__)
  // asks the operating system as well: it must save the wide registers
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#if defined(REGARD_EMULATE_V4)  // compiled for AVX2, to test their text where there is no AVX-512
  const bool v4 = v3, bf16 = v3;
#else
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool bf16 = v4 && __builtin_cpu_supports("avx512bf16");
#endif
  if (bf16) found.push_back(&v4_bf16::variant);
  if (v4) found.push_back(&v4::variant);
  if (v3) found.push_back(&v3::variant);
#endif
  found.push_back(&base::variant);
  return found;
}

const Variant& variant_named(const std::string& name) {
  std::string names;
  for (const Variant* variant : usable_variants()) {
    if (name == variant->name) return *variant;
    names += (names.empty() ? "" : ", ") + std::string(variant->name);
  }
  throw std::invalid_argument("REGARD_ISA is '" + name + "': this processor runs " + names + ".");
}

const Variant& chosen_variant() {
  const char* wanted = std::getenv("REGARD_ISA");
  return wanted && *wanted ? variant_named(wanted) : *usable_variants().front();
}

}  // namespace regard
