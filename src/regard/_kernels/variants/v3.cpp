#define REGARD_VARIANT v3
#define REGARD_NAME "v3"
#define REGARD_WIDTH 8
#define REGARD_COLUMNS 16
#include "../kernel.inl"
