// SPDX-License-Identifier: Apache-2.0
#include "man_page.h"

#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace s3rdmafs::docs {
namespace {

// "-o,--options LIST" and "*-o, --options* _LIST_" alike.
std::set<std::string> options_in(const std::string& term) {
  static const std::regex kOption("(^|[ ,*])(--?[A-Za-z][A-Za-z-]*)");
  std::set<std::string> options;
  for (std::sregex_iterator match(term.begin(), term.end(), kOption), end; match != end; ++match) {
    options.insert((*match)[2]);
  }
  return options;
}

}  // namespace

std::string read_source(std::string_view path) {
  std::ifstream file(std::string(SOURCE_ROOT "/") + std::string(path));
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, std::string> documented_keys(std::string_view page) {
  static const std::regex kSection("## \\[([a-z_]+)\\]");
  static const std::regex kKey("\\*([a-z_]+)\\* = .*");
  static const std::regex kDefault("\tDefault: (\\*(.*)\\*|(empty)[,.]?.*)[.]?");
  static const std::regex kEscaped(R"(\\(.))");  // scdoc(5)
  std::map<std::string, std::string> keys;
  bool in_keys = false;
  std::string section;
  std::string key;
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("# ")) {
      section.clear();
      in_keys = line == "# KEYS";
    }
    if (!in_keys) continue;
    if (std::regex_match(line, match, kSection)) {
      section = match[1];
    } else if (std::regex_match(line, match, kKey)) {
      key = (section.empty() ? "" : section + ".") + match[1].str();
      keys[key] = "";
    } else if (std::regex_match(line, match, kDefault)) {
      const std::string text = match[2].matched ? match[2].str() : match[3].str();
      keys[key] = std::regex_replace(text, kEscaped, "$1");
    } else if (line == "\tRequired.") {
      keys[key] = "required";
    }
  }
  return keys;
}

std::map<std::string, std::set<std::string>> documented_options(std::string_view page) {
  std::map<std::string, std::set<std::string>> options;
  std::string heading;
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) heading = line.substr(2);
    if (heading != "SYNOPSIS" && line.starts_with("*-")) options[heading].merge(options_in(line));
  }
  return options;
}

std::set<std::string> options_of_help(std::string_view help) {
  std::set<std::string> options;
  std::istringstream lines{std::string(help)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    // The description begins after two blanks.
    options.merge(options_in(line.substr(2, line.find("  ", 2) - 2)));
  }
  return options;
}

}  // namespace s3rdmafs::docs
