// SPDX-License-Identifier: Apache-2.0
// The headers of the standard library that most files include, parsed once for all of them by g++:
// meson.build of this folder compiles it and gives it to each library ahead of its sources. It is a
// saving and no convenience: a file includes what it uses, and builds without it
// (-Db_pch=false -Dunity=off, as tools/test.sh --release does).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <expected>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
