#pragma once

// Finding and FindingSink, which the programs that link shale see too.
#include "shale/callbacks.hpp"
