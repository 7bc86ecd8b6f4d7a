// A set of pairs or triplets with their texts as ids, and the figures that an embedder reaches on
// it. N examples, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/embedding_examples.h"
#include "data/text_pairs.h"
#include "tasks/embedding/embedding_loss.h"
#include "tasks/task_definition.h"
#include "text/tokenizer.h"

namespace roformer {

struct EmbeddingSet {
  EmbeddingExamples source;
  std::vector<EncodedText> texts;  // of source.texts, [CLS] text [SEP]
  std::int64_t cut = 0;            // texts longer than data.length
};

// Encodes the texts and cuts them to data.length. Warnings call the set `name`.
EmbeddingSet encode_embedding_set(const Settings& settings, const Tokenizer& tokenizer,
                                  EmbeddingExamples examples, const std::string& name);

// The vectors of the examples, taken from those of source.texts.
ExampleVectors example_vectors(const EmbeddingSet& set, const at::Tensor& vectors);

// The place of each example's partner among all partners and negatives of the set, by cosine with
// the first text, from 1; [N]. The first text itself and its other known partners are left out.
// Candidates with the same cosine come before the partner, so that equal vectors find nothing.
std::vector<std::int64_t> partner_ranks(const EmbeddingSet& set, const at::Tensor& vectors);

double retrieval_accuracy(const std::vector<std::int64_t>& ranks);    // share of rank 1
double mean_reciprocal_rank(const std::vector<std::int64_t>& ranks);  // (Voorhees 1999)

// The figures of a validation. loss, over groups of training.batch consecutive examples; with
// scores spearman and pearson of the cosines, else retrieval_accuracy among the whole set;
// collapsed, 1 if all cosines are the same. `vectors` [texts, M] float on the CPU; `scale`: of the
// scores of the training.
std::map<std::string, double> embedding_figures(const Settings& settings, const EmbeddingSet& set,
                                                const at::Tensor& vectors, double scale);

// The cosine of each example's two texts, [N].
std::vector<double> cosines_of(const ExampleVectors& vectors);

// roformer evaluate and roformer predict.
EvaluationResult evaluate_embedder(OpenedRun run, const EvaluationRequest& request);
void predict_cosines(OpenedRun run, const PredictionRequest& request);

}  // namespace roformer
