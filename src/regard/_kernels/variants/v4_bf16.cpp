#define REGARD_VARIANT v4_bf16
#define REGARD_NAME "v4-bf16"
#define REGARD_WIDTH 16
#define REGARD_COLUMNS 64
#define REGARD_PAIRS 1
#include "../kernel.inl"
