// SPDX-License-Identifier: Apache-2.0
// Reads what a man page in scdoc says about keys and options, so that tests can hold it against
// what the programs do.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace s3rdmafs::docs {

/// A file of the source tree. The test fails where it cannot be read.
std::string read_source(std::string_view path);

/// The default of each key in s3rdmafs.toml(5), by full name ("cache.size"): the text of its
/// "Default: " without emphasis up to the first "." or "," after a word, or "required"; empty where
/// the page says neither.
std::map<std::string, std::string> documented_keys(std::string_view page);

/// The options that stand as terms (lines that begin with "*-") below each heading of a page.
std::map<std::string, std::set<std::string>> documented_options(std::string_view page);

/// The options in the help text of a program: the names in its first column.
std::set<std::string> options_of_help(std::string_view help);

}  // namespace s3rdmafs::docs
