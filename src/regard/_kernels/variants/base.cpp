#define REGARD_VARIANT base
#define REGARD_NAME "base"
#define REGARD_WIDTH 4
#define REGARD_COLUMNS 8
#include "../kernel.inl"
