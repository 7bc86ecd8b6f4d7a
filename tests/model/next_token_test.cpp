// Decoding with the key-value cache gives what computing the whole text again gives, for every
// causal scheme that the cache can serve exactly.
#include "model/next_token.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "model/generate.h"

using namespace roformer;

namespace {

constexpr std::int64_t kVocabulary = 50;

struct Decoder {
  Settings settings;
  ParameterStore parameters{3};
  std::unique_ptr<TransformerStack> encoder;
  std::unique_ptr<LanguageHead> head;

  explicit Decoder(const std::string& position, std::vector<Override> overrides = {}) {
    const std::vector<Override> shape = {{"task", "causal_lm"},        {"model.layers", "2"},
                                         {"model.width", "32"},        {"model.heads", "2"},
                                         {"model.feed_forward", "64"}, {"model.vocabulary", "50"},
                                         {"data.length", "32"},        {"position", position}};
    overrides.insert(overrides.begin(), shape.begin(), shape.end());
    settings = default_settings(overrides);
    encoder =
        std::make_unique<TransformerStack>(StackSettings{.model = settings.model,
                                                         .attention = settings.attention,
                                                         .position = settings.position,
                                                         .causal = true,
                                                         .training_length = settings.data.length},
                                           parameters);
    head = std::make_unique<LanguageHead>(*encoder, parameters);
    // Larger than initial weights, so that positions differ clearly.
    for (const Parameter& parameter : parameters.all()) {
      if (parameter.spec.name.find("norm") != std::string::npos) continue;
      at::Tensor value = parameter.value.detach();
      value.add_(0.2 * at::randn(value.sizes(), at::make_generator<at::CPUGeneratorImpl>(7)));
    }
    parameters.apply_constraints();
  }

  NextToken::Parts parts(CacheUse use) const {
    return {.stack = *encoder, .head = *head, .cache = use};
  }
};

at::Tensor text(std::int64_t length) {
  return at::randint(kVocabulary, {2, length}, at::make_generator<at::CPUGeneratorImpl>(5),
                     at::kLong);
}

std::vector<std::vector<std::int64_t>> text_from(const NextToken::Parts& parts,
                                                 const std::vector<std::int64_t>& prompt,
                                                 const GenerationOptions& options) {
  NextToken model(parts);
  return generate(model, prompt, options);
}

// The largest difference of the logits over a prompt of 7 tokens, a chunk of 3, then single tokens.
double difference(const Decoder& decoder, std::int64_t length) {
  NextToken cached(decoder.parts(CacheUse::automatic));
  NextToken full(decoder.parts(CacheUse::never));
  const at::Tensor ids = text(length);
  double worst = 0;
  std::int64_t begin = 0;
  while (begin < length) {
    const std::int64_t count = begin == 0 ? 7 : begin == 7 ? 3 : 1;
    const at::Tensor part = ids.narrow(1, begin, count);
    const at::Tensor expected = full.append(part);
    worst = std::max(worst, (cached.append(part) - expected).abs().max().item<double>());
    CHECK(expected.abs().max().item<double>() > 0.1);
    begin += count;
  }
  return worst;
}

}  // namespace

TEST_CASE("a decoding step with the cache equals the whole text computed again") {
  for (const std::string& name : position_names()) {
    DYNAMIC_SECTION(name) {
      CHECK(difference(Decoder(name), 24) < 2e-5);
    }
  }
}

TEST_CASE("the cache holds beyond its first allocation and with windows, scalings and values") {
  CHECK(difference(Decoder("rope"), 80) < 2e-5);
  CHECK(difference(Decoder("rope", {{"attention.window", "5"}}), 24) < 2e-5);
  CHECK(difference(Decoder("rope", {{"position.value", "true"}}), 24) < 2e-5);
  CHECK(difference(Decoder("rope", {{"position.scaling", "yarn"}, {"position.factor", "4"}}), 24) <
        2e-5);
  CHECK(difference(Decoder("none", {{"model.norm", "pre"}}), 24) < 2e-5);
  CHECK(difference(Decoder("xpos"), 80) < 2e-5);  // block-causal beyond the trained length
  CHECK(difference(Decoder("rerope", {{"position.window", "8"}}), 40) < 2e-5);
}

TEST_CASE("the cache holds what the options of newer schemes need") {
  const auto with = [](const char* scheme, std::vector<Override> options) {
    for (Override& option : options) option.key = "position." + option.key;
    return difference(Decoder(scheme, std::move(options)), 24);
  };
  CHECK(with("none", {{"attention_scale", "0.3"}, {"floor_scale", "3"}}) < 2e-5);
  CHECK(with("fox", {{"rope_base", "500"}}) < 2e-5);
  CHECK(with("fox", {{"gates", "bias_only"}}) < 2e-5);
  CHECK(with("stick_breaking", {{"remainder", "value"}}) < 2e-5);
  CHECK(with("stick_breaking", {{"remainder", "head_bias"}, {"attend_current", "true"}}) < 2e-5);
  for (const char* form : {"alibi", "sinusoidal", "learned", "noisy_alibi"}) {
    CAPTURE(form);
    CHECK(with("explicit_positions", {{"form", form}}) < 2e-5);
  }
  CHECK(with("explicit_positions", {{"draw", "shape"}, {"form", "learned"}}) < 2e-5);
  CHECK(with("explicit_positions", {{"draw", "cape"}}) < 2e-5);
  CHECK(with("dape", {{"kernel", "3"}, {"kind", "alibi"}}) < 2e-5);
  CHECK(with("dape", {{"kind", "rope"}}) < 2e-5);
  CHECK(with("fope", {{"trained", "true"}, {"pad_sin", "0"}}) < 2e-5);
  CHECK(with("path", {{"forget_gate", "true"}, {"rank", "0"}}) < 2e-5);
  CHECK(with("path", {{"convolution", "0"}}) < 2e-5);
  CHECK(with("path", {{"convolution", "9"}}) < 2e-5);  // further back than the prompt
  // Beyond one chunk of PaTH's products, begun and read on.
  CHECK(difference(Decoder("path", {{"data.length", "160"}}), 140) < 2e-5);
  for (const char* scheme :
       {"fox", "stick_breaking", "explicit_positions", "dape", "fope", "path"}) {
    CAPTURE(scheme);
    CHECK(difference(Decoder(scheme, {{"model.key_value_heads", "1"}}), 24) < 2e-5);
  }
  // A general path beside the one by rows, and attention by scores with a window.
  CHECK(difference(Decoder("fox", {{"attention.log_n", "query"}, {"attention.log_n_length", "8"}}),
                   24) < 2e-5);
  CHECK(difference(Decoder("fox", {{"attention.window", "5"}}), 24) < 2e-5);
}

TEST_CASE("what no token will see again leaves the cache, and changes nothing") {
  const auto check = [](const Decoder& decoder) {
    CHECK(difference(decoder, 150) < 3e-5);  // the cache is pruned once and again
    NextToken model(decoder.parts(CacheUse::automatic));
    std::int64_t most = 0;
    for (int step = 0; step < 40; ++step) {
      model.append(text(10));
      most = std::max(most, model.remembered());
    }
    // Schemes that draw positions count the tokens, and keep them.
    CHECK(most <= (decoder.encoder->scheme().capabilities().draws_positions ? 400 : 64 + 10));
  };
  for (const std::string& name : position_names()) {
    DYNAMIC_SECTION(name << " with a window") {
      check(Decoder(name, {{"attention.window", "9"}, {"data.length", "512"}}));
    }
  }
  SECTION("PaTH, whose convolution reads further back than its window") {
    check(Decoder(
        "path",
        {{"attention.window", "3"}, {"position.convolution", "32"}, {"data.length", "512"}}));
  }
  for (const char* const distance : {"slots", "clipped"}) {
    DYNAMIC_SECTION("streaming, " << distance) {
      check(Decoder(
          "streaming",
          {{"position.sinks", "3"}, {"position.recent", "12"}, {"position.distance", distance}}));
    }
  }
}

TEST_CASE("a text that outgrows longrope's short factors is read again, once") {
  const Decoder decoder("rope", {{"data.length", "512"},
                                 {"position.scaling", "longrope"},
                                 {"position.factor", "4"},
                                 {"position.original_length", "12"},
                                 {"position.short_factor", "[1, 1, 1, 1, 1, 1, 1, 1]"},
                                 {"position.long_factor", "[1.2, 1.5, 2, 2, 3, 3, 4, 4]"}});
  NextToken::Parts cached_parts = decoder.parts(CacheUse::automatic);
  NextToken::Parts full_parts = decoder.parts(CacheUse::never);
  cached_parts.precision = full_parts.precision = GENERATE(Precision::fp32, Precision::bf16);
  NextToken cached(cached_parts), full(full_parts);
  const at::Tensor ids = text(20);
  for (std::int64_t i = 0; i < 20; ++i) {
    CAPTURE(i);
    const at::Tensor next = ids.narrow(1, i, 1);
    const at::Tensor wanted = full.append(next);
    const double found = (cached.append(next) - wanted).abs().max().item<double>();
    const bool exact = cached_parts.precision == Precision::fp32;
    CHECK(found < (exact ? 3e-5 : 0.03 * wanted.abs().max().item<double>()));
    if (i == 10) {
      cached.reorder(std::vector<std::int64_t>{1, 0});
      full.reorder(std::vector<std::int64_t>{1, 0});
    }
  }
}

TEST_CASE("keys that every token changes are not rounded as often") {
  const Decoder decoder("path", {{"data.length", "1024"}});
  const at::Tensor ids = text(600);
  const auto whole = [&](Precision precision) {
    NextToken::Parts parts = decoder.parts(CacheUse::never);
    parts.precision = precision;
    return NextToken(parts).append(ids);
  };
  NextToken::Parts parts = decoder.parts(CacheUse::automatic);
  parts.precision = Precision::bf16;
  NextToken cached(parts);
  at::Tensor found;
  for (std::int64_t i = 0; i < ids.size(1); ++i) found = cached.append(ids.narrow(1, i, 1));
  const at::Tensor exact = whole(Precision::fp32);
  const double rounding = (whole(Precision::bf16) - exact).norm().item<double>();
  CAPTURE((found - whole(Precision::bf16)).norm().item<double>());
  CHECK((found - exact).norm().item<double>() < 1.2 * rounding);
}

TEST_CASE("a text that is written keeps to the positions that were drawn for all of it") {
  const Decoder decoder(
      "explicit_positions",
      {{"data.length", "16"}, {"position.form", "learned"}, {"position.positions", "64"}});
  NextToken::Parts parts = decoder.parts(CacheUse::automatic);
  parts.expected_length = 60;
  NextToken cached(parts);
  at::Tensor last;
  const at::Tensor ids = text(60);
  for (std::int64_t i = 0; i < 60; ++i) last = cached.append(ids.narrow(1, i, 1));
  NextToken full(decoder.parts(CacheUse::never));
  CHECK((last - full.append(ids)).abs().max().item<double>() < 3e-5);
}

TEST_CASE("texts change places after what is hidden has left the cache, in bf16 too") {
  const Decoder decoder("rope", {{"attention.window", "9"}});
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    NextToken::Parts cached_parts = decoder.parts(CacheUse::automatic);
    NextToken::Parts full_parts = decoder.parts(CacheUse::never);
    cached_parts.precision = full_parts.precision = precision;
    NextToken cached(cached_parts), full(full_parts);
    const at::Tensor ids = text(100);
    for (NextToken* const model : {&cached, &full}) {
      for (std::int64_t begin = 0; begin < 90; begin += 10) model->append(ids.narrow(1, begin, 10));
      model->reorder(std::vector<std::int64_t>{1, 0, 1});
    }
    CHECK(cached.remembered() < 90);
    const at::Tensor next = at::cat({ids, ids.narrow(0, 0, 1)}, 0).narrow(1, 90, 1);
    const at::Tensor expected = full.append(next);
    const double scale = expected.abs().max().item<double>();
    const double found = (cached.append(next) - expected).abs().max().item<double>();
    CHECK(found < (precision == Precision::bf16 ? 0.03 * scale : 3e-5));
  }
}

TEST_CASE("a layer that sees all keeps all") {
  const Decoder decoder("rope", {{"attention.layers", "{0: {window: 9}}"}});
  NextToken model(decoder.parts(CacheUse::automatic));
  for (int step = 0; step < 15; ++step) model.append(text(10));
  CHECK(model.remembered() == 150);
}

TEST_CASE("linear attention decodes by its running sums") {
  const auto with = [](std::vector<Override> overrides) {
    overrides.push_back({"attention.kernel", "elu"});
    return difference(Decoder("rope", overrides), 40);
  };
  CHECK(with({}) < 2e-5);
  CHECK(with({{"attention.linear_rotation", "before"}}) < 2e-5);
  // Dynamic NTK's angles change with the length: computed again.
  CHECK(with({{"position.scaling", "dynamic_ntk"}, {"position.factor", "4"}}) < 2e-5);
  const auto favor = [](const char* stabilize, const char* epsilon) {
    return difference(Decoder("rope", {{"attention.kernel", "favor"},
                                       {"attention.favor_stabilize", stabilize},
                                       {"attention.favor_epsilon", epsilon}}),
                      40);
  };
  CHECK(favor("false", "1e-4") < 1e-4);
  CHECK(favor("true", "0") < 1e-4);
}

TEST_CASE("rows of a decoder move, double and leave") {
  for (const auto& [scheme, kernel] : std::vector<std::pair<const char*, const char*>>{
           {"rope", "softmax"}, {"rope", "elu"}, {"fox", "softmax"}, {"path", "softmax"}}) {
    CAPTURE(scheme, kernel);
    const Decoder decoder(scheme, {{"attention.kernel", kernel}});
    NextToken cached(decoder.parts(CacheUse::automatic)), full(decoder.parts(CacheUse::never));
    cached.append(text(7));
    full.append(text(7));
    for (const std::vector<std::int64_t>& rows :
         std::vector<std::vector<std::int64_t>>{{1, 0}, {0, 0, 1, 0}, {3, 2, 2}, {1}}) {
      cached.reorder(rows);
      full.reorder(rows);
      const auto count = static_cast<std::int64_t>(rows.size());
      const at::Tensor ids = at::arange(2 * count, at::kLong).view({count, 2});
      CHECK((cached.append(ids) - full.append(ids)).abs().max().item<double>() < 2e-5);
    }
  }
}

TEST_CASE("greedy text is the same with and without the cache, sampled text with the same seed") {
  for (const std::string& name : {"rope", "sinusoidal", "learned", "none"}) {
    DYNAMIC_SECTION(name) {
      const Decoder decoder(name);
      GenerationOptions options{.sampling = {.temperature = 0}, .tokens = 20, .samples = 2};
      const auto cached = text_from(decoder.parts(CacheUse::automatic), {1, 2, 3}, options);
      const auto full = text_from(decoder.parts(CacheUse::never), {1, 2, 3}, options);
      CHECK(cached == full);
      CHECK(cached[0].size() == 20);
      CHECK(cached[0] == cached[1]);
      options.sampling.temperature = 1;
      const auto sampled = text_from(decoder.parts(CacheUse::automatic), {1, 2, 3}, options);
      CHECK(sampled[0] != sampled[1]);
      CHECK(sampled == text_from(decoder.parts(CacheUse::automatic), {1, 2, 3}, options));
      options.first_sample = 1;
      options.samples = 1;
      CHECK(sampled[1] == text_from(decoder.parts(CacheUse::automatic), {1, 2, 3}, options)[0]);
    }
  }
}

TEST_CASE("generation ends at the end, and leaves out what it must") {
  const Decoder decoder("rope");
  const auto parts = decoder.parts(CacheUse::automatic);
  GenerationOptions options{.sampling = {.temperature = 0}, .tokens = 20};
  const std::vector<std::int64_t> free = text_from(parts, {1, 2, 3}, options)[0];
  options.ends = {free[4]};
  std::vector<std::int64_t> before(free.begin(),
                                   std::find(free.begin(), free.end(), options.ends.front()));
  CHECK(text_from(parts, {1, 2, 3}, options)[0] == before);
  options.ends.clear();
  options.excluded = {free[0]};
  const auto without = text_from(parts, {1, 2, 3}, options);
  for (const std::int64_t id : without[0]) CHECK(id != free[0]);
  options.excluded = {};
  options.vocabulary = 5;
  const auto low = text_from(parts, {1, 2, 3}, options);
  for (const std::int64_t id : low[0]) CHECK(id < 5);
}
