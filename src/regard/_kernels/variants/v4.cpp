#define REGARD_VARIANT v4
#define REGARD_NAME "v4"
#define REGARD_WIDTH 16
#define REGARD_COLUMNS 64
#include "../kernel.inl"
