"""Writes the folders of models/ named marian* with Hugging Face's transformers (pip install torch
transformers sentencepiece sacremoses safetensors; made with transformers 5.23.0, torch 2.11.0,
sentencepiece 0.2.3): small MarianMT models with random weights. For each, expected.safetensors holds
inputs, logits, the loss and the gradients of one step, expected.json lines of text, their ids and
what generate() makes of them, and searches.json what it makes of them with other options of the search
(made with transformers 5.24.0). Run it in this folder; with "searches" it writes only these, of the
folders as they are."""
import json
import shutil
import sys
from pathlib import Path

import numpy
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer

SOURCE = ["the red button", "a green button", "click the button", "the cells are red", "click a cell",
          "the table has cells", "red and green", "a table and a button", "the green cells"]
TARGET = ["der rote knopf", "ein gruener knopf", "klick den knopf", "die zellen sind rot",
          "klick eine zelle", "die tabelle hat zellen", "rot und gruen", "eine tabelle und ein knopf"]
# Words, an unknown letter, a language's code, a special token written out, a piece of the target.
LINES = SOURCE[:5] + ["the tables xq", ">>de<< red cells", "a </s> b", "der button", "red " * 9]
SHAPE = dict(d_model=16, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
             decoder_ffn_dim=24, max_position_embeddings=64)
SOURCES, TARGETS = [11, 4, 7], [8, 3, 9]  # lengths of the pairs of the loss


def train_pieces(folder, name, sentences, size):
    """A unigram model without the normaliser's large table."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 20), model_prefix=str(folder / name), vocab_size=size,
        hard_vocab_limit=False, normalization_rule_name="identity", minloglevel=2)
    (folder / f"{name}.vocab").unlink()
    (folder / f"{name}.model").rename(folder / f"{name}.spm")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
    return [model.id_to_piece(i) for i in range(model.vocab_size()) if not model.is_control(i)
            and not model.is_unknown(i)]


def numbered(pieces):
    return {piece: number for number, piece in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}


def write_tokenizer(folder, separate):
    """Opus-MT's order: the end, the unknown token, pieces, the padding at last."""
    source = train_pieces(folder, "source", SOURCE, 34)
    target = train_pieces(folder, "target", TARGET, 34)
    if separate:
        size = max(len(source), len(target))  # one padding for both
        vocabularies = {name: numbered(pieces + [f"more{i}" for i in range(size - len(pieces))])
                        for name, pieces in (("vocab", source), ("target_vocab", target))}
    else:  # one piece of the source is missing: the model is older than the vocabulary
        pieces = [piece for piece in source if piece != source[3]]
        pieces += [piece for piece in target if piece not in pieces] + [">>de<<"]
        vocabularies = {"vocab": numbered(pieces)}
    for name, vocabulary in vocabularies.items():
        (folder / f"{name}.json").write_text(json.dumps(vocabulary, indent=1) + "\n")
    settings = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate,
                "source_lang": "en", "target_lang": "de"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    return [len(vocabulary) for vocabulary in vocabularies.values()]


def randomize(model, seed, output_bias):
    """Every weight matters: LayerNorm's and biases too, which begin at one and zero."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue
        noise = 0.2 * torch.randn(parameter.shape, generator=generator)
        parameter.data = noise + 1 if "layer_norm.weight" in name else noise
    if output_bias:
        model.final_logits_bias = 0.5 * torch.randn(model.final_logits_bias.shape, generator=generator)
    model.tie_weights()


def train(model, seed, steps=400):
    """Half learns to read backwards: translations then end, and are not all alike."""
    generator = torch.Generator().manual_seed(seed + 100)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        length = torch.randint(2, 16, (1,), generator=generator).item()
        ids = torch.randint(2, model.config.vocab_size - 1, (16, length), generator=generator)
        end = torch.zeros(16, 1, dtype=torch.long)
        begin = torch.full((16, 1), model.config.decoder_start_token_id)
        logits = model(input_ids=torch.cat([ids, end], 1),
                       decoder_input_ids=torch.cat([begin, ids.flip(1)], 1)).logits
        labels = torch.cat([ids.flip(1), end], 1)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", loss.item())
    return model.eval()


def padded(rows, fill):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [fill] * (longest - len(row)) for row in rows])


def compute(model):
    generator = torch.Generator().manual_seed(7)
    config = model.config

    def rows(lengths, size):
        return [torch.randint(2, size - 1, (n - 1,), generator=generator).tolist() + [0] for n in lengths]
    sources, targets = rows(SOURCES, config.vocab_size), rows(TARGETS, config.decoder_vocab_size)
    ids, labels = padded(sources, config.pad_token_id), padded(targets, -100)
    mask = padded([[1] * n for n in SOURCES], 0)
    # Not by `labels`: with tables of their own, transformers takes the wrong vocabulary's size.
    begun = [[config.decoder_start_token_id] + row[:-1] for row in targets]
    logits = model(input_ids=ids, attention_mask=mask,
                   decoder_input_ids=padded(begun, config.pad_token_id)).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    loss.backward()
    flat = torch.cat([logits[i, :n] for i, n in enumerate(TARGETS)])
    result = dict(source_ids=torch.tensor(sum(sources, [])), target_ids=torch.tensor(sum(begun, [])),
                  labels=torch.tensor(sum(targets, [])), source_lengths=torch.tensor(SOURCES),
                  target_lengths=torch.tensor(TARGETS), logits=flat, loss=loss)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            result["gradient." + name] = parameter.grad
    return {name: value.detach().contiguous() for name, value in result.items()}


def generate(model, folder):
    tokenizer = MarianTokenizer.from_pretrained(folder)
    words = {number: piece for piece, number in json.loads(
        (folder / ("target_vocab.json" if tokenizer.separate_vocabs else "vocab.json")).read_text()).items()}
    end = model.config.eos_token_id
    result = dict(lines=LINES, ids=[], generated={})
    for line in LINES:
        result["ids"].append(tokenizer(line)["input_ids"] if "</s>" not in line else None)
    for beams in (1, 4):
        texts = []
        for line in LINES:
            found = model.generate(**tokenizer([line], return_tensors="pt"), num_beams=beams)[0].tolist()
            assert found[0] == model.config.decoder_start_token_id and end in found, found
            texts.append([words[i] for i in found[1:found.index(end)]])
        result["generated"][str(beams)] = texts
        longest = model.generation_config.max_length - 2
        print(folder, beams, [len(text) for text in texts], "at the limit:",
              sum(len(text) == longest for text in texts))
    return result


SEARCHES = [dict(max_length=8), dict(repetition_penalty=1.3), dict(repetition_penalty=0.7),
            dict(no_repeat_ngram_size=1), dict(no_repeat_ngram_size=2),
            dict(repetition_penalty=1.2, no_repeat_ngram_size=3, max_length=12),
            dict(forced_bos_token_id=6), dict(forced_bos_token_id=6, max_length=6, length_penalty=2.0)]


def write_searches(folder):
    """Each with a greedy search and with a beam of 4, whose score is that of generate()."""
    model, tokenizer = MarianMTModel.from_pretrained(folder).eval(), MarianTokenizer.from_pretrained(folder)
    words = {number: piece for piece, number in json.loads(
        (folder / ("target_vocab.json" if tokenizer.separate_vocabs else "vocab.json")).read_text()).items()}
    end, result = model.config.eos_token_id, []
    lines = [line for line in LINES if "</s>" not in line]
    for options in SEARCHES:
        for beams in (1, 4):
            search = dict(options=options, beam=beams, pieces=[], scores=[])
            for line in lines:
                with torch.no_grad():
                    found = model.generate(**tokenizer([line], return_tensors="pt"), num_beams=beams,
                                           return_dict_in_generate=True, output_scores=True, **options)
                ids = found.sequences[0].tolist()
                assert end in ids, ids
                search["pieces"].append([words[i] for i in ids[1:ids.index(end)]])
                if beams > 1:
                    search["scores"].append(round(found.sequences_scores[0].item(), 6))
            result.append(search)
    (folder / "searches.json").write_text(json.dumps(dict(lines=lines, searches=result)) + "\n")


def write(name, seed, search, output_bias=True, separate=False, **options):
    folder = Path("models") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sizes = write_tokenizer(folder, separate)
    pad = sizes[0] - 1
    if separate:
        assert sizes[0] == sizes[1], "one padding for both"
    model = MarianMTModel(MarianConfig(
        vocab_size=sizes[0], decoder_vocab_size=sizes[-1], pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=0,
        share_encoder_decoder_embeddings=not separate, **SHAPE, **options))
    randomize(model, seed, output_bias)
    train(model, seed)
    model.generation_config = GenerationConfig(
        num_beams=4, max_length=40, bad_words_ids=[[pad]], pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=0, **search)
    model.save_pretrained(folder)
    save_file(compute(model), folder / "expected.safetensors")
    with torch.no_grad():
        (folder / "expected.json").write_text(json.dumps(generate(model, folder), indent=1) + "\n")
    return folder


def as_released(folder):
    """Sinusoids and all names of the one table stored, the search in config.json."""
    weights = load_file(folder / "model.safetensors")
    table = weights["model.shared.weight"]
    angles = numpy.arange(64)[:, None] / 10000 ** (numpy.arange(0, 16, 2) / 16)
    sinusoids = torch.tensor(numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1),
                             dtype=torch.float32)
    for side in ("encoder", "decoder"):
        weights[f"model.{side}.embed_tokens.weight"] = table.clone()
        weights[f"model.{side}.embed_positions.weight"] = sinusoids.clone()
    weights["lm_head.weight"] = table.clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    file = folder / "generation_config.json"
    config = json.loads((folder / "config.json").read_text()) | json.loads(file.read_text())
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    file.unlink()


def main():
    if sys.argv[1:] == ["searches"]:
        return [write_searches(folder) for folder in sorted(Path("models").glob("marian*"))]
    write("marian", 1, dict(renormalize_logits=True), activation_function="swish",
          scale_embedding=True, encoder_layers=2, decoder_layers=2)
    as_released(write("marian_released", 2, dict(early_stopping=True, length_penalty=0.6), output_bias=False,
                      activation_function="relu", encoder_layers=2, decoder_layers=1))
    write("marian_separate", 3, dict(early_stopping="never", length_penalty=0.3), separate=True,
          activation_function="gelu", scale_embedding=True, encoder_layers=1, decoder_layers=2)
    for folder in sorted(Path("models").glob("marian*")):
        write_searches(folder)


if __name__ == "__main__":
    main()
