// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace s3rdmafs::daemon {

/// How a text stands out on a terminal.
enum class Style { kPlain, kBold, kDim, kGood, kWritten, kAlert };

/// One line of a terminal, of a fixed number of cells: what does not fit is cut, and never a
/// character in two. Thread-bound.
class TextLine {
 public:
  /// @param columns   cells of the line
  /// @param is_plain  without styles, for output that is not a terminal
  TextLine(std::size_t columns, bool is_plain) : columns_(columns), is_plain_(is_plain) {}

  /// Appends UTF-8 without control characters (printable()). Bytes that are not UTF-8 become '?'.
  TextLine& add(std::string_view text, Style style = Style::kPlain);
  /// Appends `text` in exactly `cells` cells: cut, or filled with blanks on the right.
  TextLine& add_left(std::string_view text, std::size_t cells, Style style = Style::kPlain);
  /// The same with the blanks on the left.
  TextLine& add_right(std::string_view text, std::size_t cells, Style style = Style::kPlain);
  /// Blanks up to this cell; nothing where the line is already there.
  TextLine& move_to(std::size_t cell);

  [[nodiscard]] std::size_t cells() const noexcept { return cells_; }
  /// With the escape sequences of its styles (ECMA-48, SGR).
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void append(std::string_view text, std::size_t cells, Style style);

  std::size_t columns_;
  bool is_plain_;
  std::size_t cells_ = 0;
  std::string text_;
};

/// The cells that a text takes on a terminal.
[[nodiscard]] std::size_t cells_of(std::string_view text);

}  // namespace s3rdmafs::daemon
