// SPDX-License-Identifier: Apache-2.0
// src/base/precompiled.h and GoogleTest, for the unit tests, which are compiled without
// optimization.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/precompiled.h"
