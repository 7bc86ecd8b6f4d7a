// Keys of the optimiser, its schedule, and the intervals of logging, validation and checkpoints.
#include "config/schema_row.h"
#include "config/words.h"

namespace roformer {

std::vector<Key> training_keys() {
  return {
      ROFORMER_KEY(training.steps, {.help = "how long to train", .decides = Decides::figures}),
      ROFORMER_KEY(training.batch,
                   {.unit = "rows",
                    .range = between(1, 1 << 20),
                    .help = "rows of a micro-batch (glue: sentences or pairs; matching: "
                            "pairs, or triplets of the triplet loss)"}),
      ROFORMER_KEY(training.batch_tokens,
                   {.unit = "tokens",
                    .range = between(0, 1 << 30),
                    .help = "fill batches up to this many tokens (translation: on each side), "
                            "instead of a fixed number of rows; 0: use training.batch",
                    .tasks = {TaskKind::glue, TaskKind::classification, TaskKind::tagging,
                              TaskKind::embedding, TaskKind::translation, TaskKind::matching}}),
      ROFORMER_KEY(training.accumulation,
                   {.unit = "micro-batches",
                    .range = between(1, 1 << 20),
                    .help = "micro-batches whose gradients make one step; several processes "
                            "share them and, where they do not go round, their rows"}),
      ROFORMER_KEY(training.learning_rate,
                   {.range = above(0),
                    .help = "AdamW's learning rate at the peak of the schedule (Loshchilov 2019)",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.schedule,
                   {.help = "shape after the warm-up; inverse_square_root: Vaswani 2017, 5.3; wsd: "
                            "constant, then a linear decay over training.decay (Hu 2024)"}),
      ROFORMER_KEY(training.decay,
                   {.help = "wsd: length of the decay at the end; runs that start it at different "
                            "steps can share the checkpoint before it",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.decay_ratio,
                   {.unit = "share of the steps",
                    .range = between(0, 1),
                    .help = "wsd: length of the decay where training.decay is 0",
                    .decides = Decides::figures}),
      ROFORMER_KEY(
          training.warmup,
          {.help =
               "the learning rate rises linearly from training.initial_learning_rate to the peak",
           .decides = Decides::figures}),
      ROFORMER_KEY(training.warmup_ratio,
                   {.unit = "share of the steps",
                    .range = between(0, 1),
                    .help = "length of the warm-up where training.warmup is 0",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.initial_learning_rate,
                   {.range = at_least(0),
                    .help = "learning rate at the start of the warm-up: step k of W has initial + "
                            "(peak - initial) k/W (RoFormer 4.1: 1e-7)",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.final_learning_rate,
                   {.unit = "share of the peak",
                    .range = between(0, 1),
                    .help = "learning rate at the end of linear, cosine and wsd"}),
      ROFORMER_KEY(training.optimizer,
                   {.help = "adamw for all parameters, or muon for the matrices inside the layers "
                            "(Jordan 2024) and adamw for the others"}),
      ROFORMER_KEY(training.muon.learning_rate,
                   {.range = at_least(0),
                    .help = "peak of the schedule for muon's matrices; 0: training.learning_rate",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.muon.momentum,
                   {.range = below_one(), .help = "decay of muon's sum of gradients"}),
      ROFORMER_KEY(training.muon.nesterov, {.help = "muon looks one step of the momentum ahead"}),
      ROFORMER_KEY(training.muon.iterations,
                   {.range = between(1, 20),
                    .help = "Newton-Schulz iterations that orthogonalise an update"}),
      ROFORMER_KEY(training.muon.scale,
                   {.help = "original: sqrt(max(1, rows / columns)) (Jordan 2024); "
                            "match_rms_adamw: 0.2 sqrt(max(rows, columns)), so that AdamW's "
                            "learning rate and weight decay fit (Liu 2025)"}),
      ROFORMER_KEY(training.layer_decay,
                   {.range = {.low = 0, .high = 1, .low_open = true},
                    .help = "factor of the learning rate for each layer below the head "
                            "(Howard 2018; ELECTRA: 0.8); 1: the same everywhere"}),
      ROFORMER_KEY(training.beta1,
                   {.range = below_one(), .help = "AdamW's decay of the first moment (mean)"}),
      ROFORMER_KEY(training.beta2,
                   {.range = below_one(), .help = "AdamW's decay of the second moment (variance)"}),
      ROFORMER_KEY(training.epsilon, {.range = above(0), .help = "AdamW's guard of the division"}),
      ROFORMER_KEY(training.weight_decay,
                   {.range = at_least(0),
                    .help = "decoupled; not applied to biases and LayerNorms (BERT: 0.01)"}),
      ROFORMER_KEY(training.ema,
                   {.range = below_one(),
                    .help = "decay d of an exponential moving average of the weights, kept beside "
                            "them and validated, too; after step t it is min(d, (1+t)/(10+t)); "
                            "0: none",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.weights,
                   {.help = "which weights' figures rank the checkpoints and count for "
                            "training.patience, and which the commands use unless --weights says "
                            "otherwise; ema needs training.ema"}),
      ROFORMER_KEY(training.clip, {.range = at_least(0),
                                   .help = "gradients are clipped to this global norm; 0: no limit",
                                   .decides = Decides::figures}),
      ROFORMER_KEY(training.max_bad_steps,
                   {.unit = "steps",
                    .range = at_least(1),
                    .help = "stop after this many steps in a row whose loss or gradient is not "
                            "finite; fewer are skipped and counted",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(training.check_finite,
                   {.help = "for debugging: check the output of every layer in every step, and "
                            "stop with the name of the first that is not finite; slow",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(training.log_every, {.help = "interval between lines of metrics; 0: never",
                                        .decides = Decides::nothing}),
      ROFORMER_KEY(training.validate_every,
                   {.help = "interval between validations; 0: at the end only",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.save_every, {.help = "interval between checkpoints; 0: at the end only",
                                         .decides = Decides::nothing}),
      ROFORMER_KEY(
          training.keep_last,
          {.unit = "checkpoints",
           .range = between(0, 100000),
           .help = "how many of the latest to keep; 0: not even the last once the run has ended",
           .decides = Decides::nothing}),
      ROFORMER_KEY(training.keep_best, {.unit = "checkpoints",
                                        .range = between(0, 100000),
                                        .help = "how many of the best by validation to keep",
                                        .decides = Decides::nothing}),
      ROFORMER_KEY(training.patience,
                   {.unit = "validations",
                    .range = at_least(0),
                    .help = "stop early after this many without improvement; 0: never",
                    .decides = Decides::figures}),
      ROFORMER_KEY(training.precision,
                   {.help = "auto takes bf16 where that is faster (a GPU; a CPU with AMX; one with "
                            "avx512_bf16 from a width of 128, but not one whose AMX is "
                            "hidden), else fp32",
                    .decides = Decides::figures}),
      ROFORMER_KEY(
          training.attention_gradient,
          {.help =
               "how bf16 attention on a GPU computes the gradients of its scores: exact computes "
               "them from the probabilities, so that every scheme has the same arithmetic; fast "
               "uses flash attention's or cuDNN's kernels where nothing is added to the scores, "
               "which lose the gradient at a nearly certain key. A CPU, and fp32, are always "
               "exact. Each run's run.json records what it used, and runs are compared by it",
           .decides = Decides::nothing}),
      ROFORMER_KEY(training.recompute,
                   {.help = "activations that the backward pass recomputes instead of storing "
                            "(Chen 2016): a whole layer's, or its attention's; same numbers, less "
                            "memory; layer is about a third slower",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(
          training.reduce,
          {.help = "how gradients are added: fast, or deterministic, one micro-batch after "
                   "the other: the same bits for any number of processes that share the "
                   "micro-batches of a step",
           .decides = Decides::nothing}),
      ROFORMER_KEY(training.graphs,
                   {.help = "one process on a GPU records the kernels of a pass once and replays "
                            "them for batches of equal size (CUDA graphs), if the scheme's work is "
                            "the same in every step and memory suffices: the same numbers, and "
                            "small models take a fraction of the time",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(training.shard_optimizer,
                   {.help = "each of several processes keeps the optimiser's moments only for its "
                            "part of the parameters (ZeRO stage 1, Rajbhandari 2020)",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(training.exceed_memory,
                   {.help = "begin although the training is estimated to take more memory than is "
                            "free, which is refused otherwise; the estimate of what a batch takes "
                            "may be wrong by a factor of two",
                    .decides = Decides::nothing}),
      ROFORMER_KEY(distributed.timeout,
                   {.unit = "seconds",
                    .range = between(1, 86400),
                    .help = "several processes: if one is silent for this long, the others end",
                    .decides = Decides::nothing}),

      ROFORMER_KEY(stages,
                   {.help = "the run in stages, a list of {steps, length, batch, accumulation, "
                            "learning_rate, warmup, directory}; what an entry leaves out comes "
                            "from data.* and training.*, but a later entry's warmup is then 0; the "
                            "schedule's factor at a step multiplies each learning_rate",
                    .tasks = {TaskKind::mlm, TaskKind::causal_lm}}),
  };
}

}  // namespace roformer
