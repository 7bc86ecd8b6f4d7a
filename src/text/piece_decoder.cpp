#include "text/piece_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/byte_pieces.h"
#include "text/growing_text.h"
#include "text/text_replacement.h"
#include "text/utf8.h"

namespace roformer {
namespace {
namespace decoders {

constexpr std::size_t kMostSteps = 64;

using Pieces = std::vector<std::string>;
using Step = std::function<void(Pieces&)>;

std::string joined(const Pieces& pieces, std::string_view between = "") {
  std::string text;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += between;
    text += pieces[i];
  }
  return text;
}

Step byte_level(const JsonFields&) {
  return [](Pieces& pieces) {
    std::string bytes;
    for (const std::string& piece : pieces) bytes += bytes_of_piece(piece);
    pieces = {std::string(ValidText(bytes).text)};
  };
}

Step replace(const JsonFields& step) {
  const auto rule = std::make_shared<const TextReplacement>(step);
  return [rule](Pieces& pieces) {
    for (std::string& piece : pieces) piece = rule->apply(piece);
  };
}

// A run of bytes that is no UTF-8 becomes one U+FFFD for each byte.
std::string text_of_bytes(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) append_utf8(text, 0xFFFD);
  return text;
}

Step byte_fallback(const JsonFields&) {
  return [](Pieces& pieces) {
    Pieces result;
    std::string bytes;
    const auto finish = [&] {
      if (!bytes.empty()) result.push_back(text_of_bytes(bytes));
      bytes.clear();
    };
    for (std::string& piece : pieces) {
      const int byte = byte_of_piece(piece);
      if (byte >= 0) {
        bytes += static_cast<char>(byte);
      } else {
        finish();
        result.push_back(std::move(piece));
      }
    }
    finish();
    pieces = std::move(result);
  };
}

Step fuse(const JsonFields&) {
  return [](Pieces& pieces) { pieces = {joined(pieces)}; };
}

// The field that names one character.
std::string one_character(const JsonFields& step, const char* name, const std::string& standard) {
  std::string text = step.text(name, standard);
  if (count_characters(text) != 1) step.refuse(name, "one character");
  return text;
}

Step strip(const JsonFields& step) {
  const std::string content = one_character(step, "content", " ");
  const std::int64_t before = step.count("start", 0, at_least(0));
  const std::int64_t after = step.count("stop", 0, at_least(0));
  return [=](Pieces& pieces) {
    for (std::string& piece : pieces) {
      std::string_view rest = piece;
      for (std::int64_t i = 0; i < before && rest.starts_with(content); ++i) {
        rest.remove_prefix(content.size());
      }
      for (std::int64_t i = 0; i < after && rest.ends_with(content); ++i) {
        rest.remove_suffix(content.size());
      }
      piece = std::string(rest);
    }
  };
}

// Markers become spaces. The first piece loses its markers unless the pre-tokenizer never puts one
// before a text.
Step metaspace(const JsonFields& step) {
  const std::string marker = one_character(step, "replacement", "\xE2\x96\x81");
  const bool adds = step.flag("add_prefix_space", true) &&
                    step.word<bool>("prepend_scheme", true,
                                    {{"always", true}, {"first", true}, {"never", false}});
  return [=](Pieces& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string text;
      for (std::string_view rest = pieces[i]; !rest.empty();) {
        if (!rest.starts_with(marker)) {
          text += rest.front();
          rest.remove_prefix(1);
        } else {
          if (i > 0 || !adds) text += ' ';
          rest.remove_prefix(marker.size());
        }
      }
      pieces[i] = std::move(text);
    }
  };
}

}  // namespace decoders
}  // namespace

PieceDecoder::PieceDecoder(const JsonFields& file) {
  if (file.find("decoder") != nullptr) read_step(file.object("decoder"));
}

void PieceDecoder::read_step(const JsonFields& step) {
  using namespace decoders;
  using Maker = Step (*)(const JsonFields&);
  const Maker make = step.word<Maker>("type", {{"Sequence", nullptr},
                                               {"ByteLevel", byte_level},
                                               {"Metaspace", metaspace},
                                               {"Replace", replace},
                                               {"ByteFallback", byte_fallback},
                                               {"Fuse", fuse},
                                               {"Strip", strip}});
  if (make != nullptr) {
    if (steps_.size() == kMostSteps) {
      step.refuse("type", fmt::format("at most {} decoders", kMostSteps));
    }
    byte_level_ = byte_level_ || make == byte_level;
    steps_.push_back(make(step));
    return;
  }
  for (const JsonFields& part : step.objects("decoders")) read_step(part);
}

std::string PieceDecoder::text_of(std::vector<std::string> pieces) const {
  if (steps_.empty()) return decoders::joined(pieces, " ");
  for (const Step& step : steps_) step(pieces);
  return decoders::joined(pieces);
}

}  // namespace roformer
