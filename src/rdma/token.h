// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace s3rdmafs::rdma {

/// How the request that carried a token ended.
enum class TokenFate {
  kUnsent,           ///< it never left, or surely never arrived
  kUnconnected,      ///< it never left: source_address() could not connect, another address could
  kAnswered,         ///< a complete answer: the server is done with the window
  kAnsweredUnbound,  ///< the same, but the request did not come from source_address()
  kTransferFailed,   ///< a complete answer, and it says that the transfer failed
  kUnanswered,       ///< no complete answer: the server may still touch the window
  kGivenUp,  ///< not waited for any longer: as kUnanswered, but nothing is known to have failed
};

/// The value of x-amz-rdma-token for one request, and what that value holds: an RC session serves
/// one request at a time (s3rdmafs-protocol(7)). Movable; used by one thread at a time. It must be
/// destroyed before its region.
class Token {
 public:
  using GiveBack = std::move_only_function<void(TokenFate)>;

  /// @param give_back  called once, by end() or the destructor, on that thread; must not block
  /// @param source_address  see source_address()
  explicit Token(std::string text, GiveBack give_back = {}, std::string source_address = {})
      : text_(std::move(text)),
        source_address_(std::move(source_address)),
        give_back_(std::move(give_back)) {}
  Token(Token&& other) noexcept
      : text_(std::move(other.text_)),
        source_address_(std::move(other.source_address_)),
        give_back_(std::exchange(other.give_back_, {})) {}
  Token& operator=(Token&& other) noexcept {
    end(TokenFate::kUnanswered);
    text_ = std::move(other.text_);
    source_address_ = std::move(other.source_address_);
    give_back_ = std::exchange(other.give_back_, {});
    return *this;
  }
  /// A token that was never ended counts as the worst case.
  ~Token() { end(TokenFate::kUnanswered); }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The IP address on this host that the request must come from: a server chooses the network it
  /// reaches our memory by from the connection, and separate networks may not be routed. Empty:
  /// any. Where no connection can be made from it, any other is better than none.
  [[nodiscard]] const std::string& source_address() const noexcept { return source_address_; }

  /// Ends the request. The session that the token held serves the next request, or is destroyed.
  void end(TokenFate fate) {
    if (GiveBack give_back = std::exchange(give_back_, {})) give_back(fate);
  }

 private:
  std::string text_;
  std::string source_address_;
  GiveBack give_back_;
};

}  // namespace s3rdmafs::rdma
