// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "matrix_row.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fault {

/// A table in Markdown that grows row by row; printed, and put into the build folder, at the end.
class Table {
 public:
  Table(std::string file_name, const std::string& first_column) : file_name_(std::move(file_name)) {
    text_ = "| " + first_column + " | rdma.mode |";
    std::string rule = "\n|---|---|";
    for (const char* column : kColumns) {
      text_ += fmt::format(" {} |", column);
      rule += "---|";
    }
    text_ += rule + "\n";
  }
  ~Table() {
    std::cout << text_;
    std::ofstream(std::string(BUILD_FOLDER "/") + file_name_) << text_;
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void add(std::string_view server, std::string_view mode, const Cells& cells) {
    text_ += fmt::format("| {} | {} |", server, mode);
    for (const std::string& cell : cells) text_ += fmt::format(" {} |", cell);
    text_ += "\n";
  }

 private:
  const std::string file_name_;
  std::string text_;
};

}  // namespace s3rdmafs::fault
