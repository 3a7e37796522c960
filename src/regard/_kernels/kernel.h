// The kernel as its callers see it: one call, and which variant of it runs.
#pragma once

#include <string>
#include <vector>

#include "problem.h"

namespace regard {

// Computes a call. Returns false when `go_on` stopped it. Throws std::bad_alloc.
//
// go_on: asked before every panel, from every thread that works; `watch` is passed to it with
// whether this is the caller's thread.
bool run(const Problem& problem, const Variant& variant, bool (*go_on)(void* watch, bool caller),
         void* watch);

// Every variant of this build that this processor can execute, the fastest first.
std::vector<const Variant*> usable_variants();

// The variant that runs: the fastest, or the one that REGARD_ISA names. Throws
// std::invalid_argument for a name that is none or that this processor cannot execute.
const Variant& chosen_variant();

// Likewise, by name.
const Variant& variant_named(const std::string& name);

}  // namespace regard
