// SPDX-License-Identifier: Apache-2.0
// Cells, not bytes: a name may have characters of two cells (CJK) or of none (combining marks).
// wcwidth(3) knows them, in a locale of UTF-8; C.UTF-8 is in glibc since 2.35, and in Debian and
// RHEL before. Where it cannot be had, each character counts as one cell.
#include "daemon/top/text_line.h"

#include <clocale>
#include <cwchar>

namespace s3rdmafs::daemon {
namespace {

/// Makes this thread's characters UTF-8 for as long as it lives.
class Utf8Scope {
 public:
  Utf8Scope() {
    if (locale() != nullptr) former_ = ::uselocale(locale());
  }
  ~Utf8Scope() {
    if (locale() != nullptr) ::uselocale(former_);
  }
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;
  [[nodiscard]] static bool works() { return locale() != nullptr; }

 private:
  /// Made once, since that reads files, and kept for as long as the process lives.
  static locale_t locale() {
    static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return made;
  }

  locale_t former_{};
};

struct Character {
  std::string_view bytes;
  std::size_t cells;
};

/// The first character of a text that is not empty.
Character first_of(std::string_view text, bool has_locale) {
  constexpr Character kWrong{.bytes = "?", .cells = 1};
  if (static_cast<unsigned char>(text.front()) < 0x80) return {text.substr(0, 1), 1};
  if (!has_locale) return kWrong;
  wchar_t wide = 0;
  std::mbstate_t state{};
  const std::size_t length = std::mbrtowc(&wide, text.data(), text.size(), &state);
  if (length == 0 || length > text.size()) return kWrong;
  const int cells = ::wcwidth(wide);
  return cells < 0 ? kWrong : Character{text.substr(0, length), static_cast<std::size_t>(cells)};
}

struct Cut {
  std::string text;
  std::size_t cells = 0;
};

Cut cut(std::string_view text, std::size_t cells_max) {
  const Utf8Scope utf8;
  Cut kept;
  while (!text.empty()) {
    const Character next = first_of(text, Utf8Scope::works());
    if (kept.cells + next.cells > cells_max) break;
    kept.text += next.bytes;
    kept.cells += next.cells;
    text.remove_prefix(next.bytes == "?" ? 1 : next.bytes.size());
  }
  return kept;
}

std::string_view sequence_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWritten:
      return "\x1b[33m";
    case Style::kAlert:
      return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

std::size_t cells_of(std::string_view text) {
  return cut(text, static_cast<std::size_t>(-1)).cells;
}

void TextLine::append(std::string_view text, std::size_t cells, Style style) {
  const bool is_styled = !is_plain_ && style != Style::kPlain && cells > 0;
  if (is_styled) text_ += sequence_of(style);
  text_ += text;
  if (is_styled) text_ += "\x1b[0m";
  cells_ += cells;
}

TextLine& TextLine::add(std::string_view text, Style style) {
  const Cut kept = cut(text, columns_ - cells_);
  append(kept.text, kept.cells, style);
  return *this;
}

TextLine& TextLine::add_left(std::string_view text, std::size_t cells, Style style) {
  const std::size_t end = cells_ + cells;
  add(cut(text, cells).text, style);
  return move_to(end);
}

TextLine& TextLine::add_right(std::string_view text, std::size_t cells, Style style) {
  const Cut kept = cut(text, cells);
  move_to(cells_ + cells - kept.cells);
  return add(kept.text, style);
}

TextLine& TextLine::move_to(std::size_t cell) {
  const std::size_t end = std::min(cell, columns_);
  if (end > cells_) append(std::string(end - cells_, ' '), end - cells_, Style::kPlain);
  return *this;
}

}  // namespace s3rdmafs::daemon
