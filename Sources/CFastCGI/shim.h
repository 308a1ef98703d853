#define NO_FCGI_DEFINES 1
#include <fcgiapp.h>
