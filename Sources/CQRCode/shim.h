#include <png.h>
#include <qrencode.h>
