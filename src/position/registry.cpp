#include "position/registry.h"

#include <map>

#include "base/error.h"

namespace roformer {

std::unique_ptr<PositionScheme> make_sinusoidal(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_learned(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_none(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_shaw(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_music_transformer(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_nezha(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_transformer_xl(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_t5(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_tupe(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_deberta(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_alibi(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_kerple(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_fire(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_sandwich(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_cope(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_rope(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_xpos(const SchemeInputs&);
std::unique_ptr<PositionScheme> make_rerope(const SchemeInputs&);

namespace {

std::map<std::string, SchemeFactory>& factories() {
  static std::map<std::string, SchemeFactory> all = {
      {"sinusoidal", make_sinusoidal},
      {"learned", make_learned},
      {"none", make_none},
      {"shaw", make_shaw},
      {"music_transformer", make_music_transformer},
      {"nezha", make_nezha},
      {"transformer_xl", make_transformer_xl},
      {"t5", make_t5},
      {"tupe", make_tupe},
      {"deberta", make_deberta},
      {"alibi", make_alibi},
      {"kerple", make_kerple},
      {"fire", make_fire},
      {"sandwich", make_sandwich},
      {"cope", make_cope},
      {"rope", make_rope},
      {"xpos", make_xpos},
      {"rerope", make_rerope},
  };
  return all;
}

}  // namespace

void register_scheme(const std::string& name, SchemeFactory factory) {
  ROFORMER_ASSERT(factories().emplace(name, factory).second);
}

std::unique_ptr<PositionScheme> make_scheme(const SchemeInputs& inputs) {
  const auto found = factories().find(inputs.settings.scheme);
  ROFORMER_ASSERT(found != factories().end());
  return found->second(inputs);
}

}  // namespace roformer
