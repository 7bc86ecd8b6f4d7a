#include "tensor/pickled_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "tensor/stored_zip.h"

namespace roformer {
namespace {

constexpr std::size_t kLargestPickle = 16 << 20;  // a tensor takes about 150 bytes
constexpr std::size_t kMostObjects = 1 << 20;
constexpr std::size_t kMostDimensions = 64;
// A model may have its largest table under several names. This times the storages is the limit of
// all tensors together.
constexpr std::uint64_t kMostShares = 8;
// The first bytes of the format before PyTorch 1.6: a pickle of one large number.
constexpr std::string_view kOldFormat("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14);

// The names that a pickle may use. The rows of storages have the type of their elements.
enum class Callable { ordered_dictionary, rebuild_tensor, rebuild_parameter, storage };
struct CallableRow {
  std::string_view name;
  Callable callable = Callable::storage;
  SafetensorsType type = SafetensorsType::f32;
};
constexpr CallableRow kCallables[] = {
    {"collections OrderedDict", Callable::ordered_dictionary},
    {"torch._utils _rebuild_tensor_v2", Callable::rebuild_tensor},
    {"torch._utils _rebuild_parameter", Callable::rebuild_parameter},
    {"torch DoubleStorage", Callable::storage, SafetensorsType::f64},
    {"torch FloatStorage", Callable::storage, SafetensorsType::f32},
    {"torch HalfStorage", Callable::storage, SafetensorsType::f16},
    {"torch BFloat16Storage", Callable::storage, SafetensorsType::bf16},
    {"torch LongStorage", Callable::storage, SafetensorsType::i64},
    {"torch IntStorage", Callable::storage, SafetensorsType::i32},
    {"torch ShortStorage", Callable::storage, SafetensorsType::i16},
    {"torch CharStorage", Callable::storage, SafetensorsType::i8},
    {"torch ByteStorage", Callable::storage, SafetensorsType::u8},
    {"torch BoolStorage", Callable::storage, SafetensorsType::boolean},
};

// A value of the unpickler's stack. Texts are views of the pickle. Everything that holds other
// values is in a list of the reader and is named by its index, so no value is deep.
struct Value {
  enum class Kind { mark, none, flag, integer, text, callable, tuple, storage, tensor, dictionary };
  Kind kind = Kind::none;
  std::int64_t number = 0;  // or the index
  std::string_view text = {};

  std::size_t index() const { return static_cast<std::size_t>(number); }
};
constexpr std::array kKinds = {"a mark",     "None",    "a flag",    "a number", "a text",
                               "a function", "a tuple", "a storage", "a tensor", "a dictionary"};

struct Storage {
  SafetensorsType type = SafetensorsType::f32;
  std::size_t begin = 0;      // of its data in the archive
  std::int64_t elements = 0;  // they lie within its member
};

// The data of the archive: which member a storage has.
class Members {
 public:
  Members(std::span<const std::byte> bytes, const std::string& file) : file_(file) {
    constexpr std::string_view kPickle = "data.pkl";
    for (const StoredMember& member : stored_members(bytes, file)) {
      if (!members_.try_emplace(member.name, member).second) {
        throw_failure(file, fmt::format("holds {} twice", printable(member.name)));
      }
      const std::size_t slash = member.name.find('/');
      if (slash == member.name.npos || member.name.substr(slash + 1) != kPickle) continue;
      root_ = std::string(member.name.substr(0, slash + 1));
    }
    pickle_ = find(std::string(kPickle));
    if (pickle_ == nullptr)
      throw_failure(file, "is an archive without data.pkl, not of torch.save");
    const StoredMember* const order = find("byteorder");
    if (order != nullptr && text_of(bytes, *order) != "little") {
      throw_failure(file, "holds numbers in another order of bytes than this machine's");
    }
  }

  const StoredMember& pickle() const { return *pickle_; }
  std::string pickle_name() const { return file_ + ":" + root_ + "data.pkl"; }
  const StoredMember* find(const std::string& name) const {
    const auto found = members_.find(root_ + name);
    return found == members_.end() ? nullptr : &found->second;
  }
  static std::string_view text_of(std::span<const std::byte> bytes, const StoredMember& member) {
    return {reinterpret_cast<const char*>(bytes.data()) + member.begin, member.size};
  }

 private:
  const std::string& file_;
  std::map<std::string_view, StoredMember> members_;
  std::string root_;  // "archive/"
  const StoredMember* pickle_ = nullptr;
};

class Unpickler {
 public:
  Unpickler(std::string_view pickle, const Members& members, std::string name)
      : pickle_(pickle), members_(members), name_(std::move(name)) {}

  std::vector<SafetensorsEntry> read() {
    while (!ended_) {
      start_ = at_;
      execute(take(1)[0]);
      objects_ = stack_.size() + memo_.size() + tuples_.size() + storages_.size() +
                 tensors_.size() + dictionaries_.size() + entries_;
      if (objects_ > kMostObjects) refuse(fmt::format("more than {} objects", kMostObjects));
    }
    if (at_ != pickle_.size()) refuse("more bytes after its end");
    return named_tensors(pop(Value::Kind::dictionary, "the whole"));
  }

 private:
  using Kind = Value::Kind;
  using Entries = std::vector<std::pair<std::string_view, Value>>;

  std::string_view pickle_;
  const Members& members_;
  std::string name_;
  std::size_t at_ = 0;     // the next byte
  std::size_t start_ = 0;  // of the opcode
  bool ended_ = false;
  std::size_t objects_ = 0, entries_ = 0;
  std::vector<Value> stack_, memo_;
  std::vector<std::vector<Value>> tuples_;
  std::vector<Storage> storages_;
  std::map<std::string_view, std::size_t> storage_of_;  // by the member's name
  std::vector<SafetensorsEntry> tensors_;               // without names
  std::vector<Entries> dictionaries_;
  std::uint64_t stored_bytes_ = 0;

  // Names the opcode that is being read.
  [[noreturn]] void refuse(const std::string& found) const {
    const auto opcode = static_cast<unsigned char>(start_ < pickle_.size() ? pickle_[start_] : 0);
    throw_failure(
        name_,
        fmt::format("opcode 0x{:02x} at byte {}: {}, which a pickle of tensors alone does not have",
                    opcode, start_, found),
        "nothing in a pickle is executed here. Where you trust the file, load it with PyTorch and "
        "save the model's state_dict alone, or as safetensors");
  }
  void require(bool holds, const char* found) const {
    if (!holds) refuse(found);
  }

  std::string_view take(std::size_t bytes) {
    require(bytes <= pickle_.size() - at_, "an end in the middle");
    const std::string_view result = pickle_.substr(at_, bytes);
    at_ += bytes;
    return result;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char c : take(bytes)) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << shift;
      shift += 8;
    }
    return value;
  }
  std::string_view line() {
    const std::size_t end = pickle_.find('\n', at_);
    require(end != pickle_.npos, "a name without an end");
    const std::string_view result = take(end - at_);
    take(1);
    return result;
  }

  void push(Kind kind, std::int64_t value = 0) {
    stack_.push_back({.kind = kind, .number = value});
  }
  template <class List>
  void push_last(Kind kind, const List& list) {
    push(kind, static_cast<std::int64_t>(list.size()) - 1);
  }
  Value pop() {
    require(!stack_.empty(), "a value that is not there");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value pop(Kind kind, const char* what) {
    const Value value = pop();
    if (value.kind != kind) {
      refuse(fmt::format("{} as {}, wanted {}", kKinds[static_cast<std::size_t>(value.kind)], what,
                         kKinds[static_cast<std::size_t>(kind)]));
    }
    return value;
  }
  // The values above the last mark, which goes too.
  std::vector<Value> pop_to_mark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [](const Value& value) { return value.kind == Kind::mark; });
    require(mark != stack_.rend(), "a mark that is not there");
    std::vector<Value> values(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return values;
  }

  void execute(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        return require(number(1) == 2, "another protocol than 2");
      case '.':  // STOP
        ended_ = true;
        return require(stack_.size() == 1, "not one value");
      case '(':  // MARK
        return push(Kind::mark);
      case 'N':  // NONE
        return push(Kind::none);
      case '\x88':  // NEWTRUE
      case '\x89':  // NEWFALSE
        return push(Kind::flag, opcode == '\x88' ? 1 : 0);
      case 'K':  // BININT1
        return push(Kind::integer, static_cast<std::int64_t>(number(1)));
      case 'M':  // BININT2
        return push(Kind::integer, static_cast<std::int64_t>(number(2)));
      case 'J':  // BININT
        return push(Kind::integer, static_cast<std::int32_t>(number(4)));
      case '\x8a':  // LONG1
        return push_long(number(1));
      case 'X': {  // BINUNICODE
        const std::uint64_t length = number(4);
        stack_.push_back({.kind = Kind::text, .text = take(static_cast<std::size_t>(length))});
        return;
      }
      case 'q':  // BINPUT
        return remember(number(1));
      case 'r':  // LONG_BINPUT
        return remember(number(4));
      case 'h':  // BINGET
        return recall(number(1));
      case 'j':  // LONG_BINGET
        return recall(number(4));
      case ')':  // EMPTY_TUPLE
        return push_tuple({});
      case '\x85':  // TUPLE1
      case '\x86':  // TUPLE2
      case '\x87':  // TUPLE3
        return push_top_tuple(static_cast<std::size_t>(static_cast<unsigned char>(opcode) - 0x84));
      case 't':  // TUPLE
        return push_tuple(pop_to_mark());
      case '}':  // EMPTY_DICT
        return push_dictionary();
      case 's': {  // SETITEM
        const Value value = pop(), key = pop();
        return set_items({key, value});
      }
      case 'u':  // SETITEMS
        return set_items(pop_to_mark());
      case 'c':  // GLOBAL
        return push_callable();
      case 'Q':  // BINPERSID
        return push_storage(pop(Kind::tuple, "what a storage has"));
      case 'R': {  // REDUCE
        const Value arguments = pop(Kind::tuple, "arguments");
        return call(pop(Kind::callable, "a function"), tuples_[arguments.index()]);
      }
      case 'b':  // BUILD: a state_dict has versions of its modules as an attribute
        pop(Kind::dictionary, "attributes");
        return require(!stack_.empty() && stack_.back().kind == Kind::dictionary,
                       "attributes of something else than a dictionary");
      default:
        refuse("an operation");
    }
  }

  void push_long(std::uint64_t bytes) {
    require(bytes <= 8, "a number of more than 8 bytes");
    std::uint64_t value = number(static_cast<std::size_t>(bytes));
    const auto bits = static_cast<unsigned>(8 * bytes);
    const bool negative = bits > 0 && ((value >> (bits - 1)) & 1) != 0;
    if (negative && bits < 64) value |= ~std::uint64_t{0} << bits;
    push(Kind::integer, static_cast<std::int64_t>(value));
  }

  // Pickles number what they remember without gaps.
  void remember(std::uint64_t place) {
    require(place <= memo_.size(), "a place of memory after a gap");
    require(!stack_.empty() && stack_.back().kind != Kind::mark, "a value that is not there");
    if (place == memo_.size()) memo_.emplace_back();
    memo_[static_cast<std::size_t>(place)] = stack_.back();
  }
  void recall(std::uint64_t place) {
    require(place < memo_.size(), "a value that was not remembered");
    stack_.push_back(memo_[static_cast<std::size_t>(place)]);
  }

  void push_tuple(std::vector<Value> values) {
    entries_ += values.size();
    tuples_.push_back(std::move(values));
    push_last(Kind::tuple, tuples_);
  }
  void push_top_tuple(std::size_t size) {
    std::vector<Value> values(size);
    for (std::size_t i = size; i-- > 0;) values[i] = pop();
    push_tuple(std::move(values));
  }
  void push_dictionary() {
    dictionaries_.emplace_back();
    push_last(Kind::dictionary, dictionaries_);
  }
  void set_items(const std::vector<Value>& items) {
    require(!stack_.empty() && stack_.back().kind == Kind::dictionary && items.size() % 2 == 0,
            "items of something else than a dictionary");
    Entries& entries = dictionaries_[stack_.back().index()];
    for (std::size_t i = 0; i < items.size(); i += 2) {
      require(items[i].kind == Kind::text, "a key that is no text");
      entries.emplace_back(items[i].text, items[i + 1]);
      ++entries_;
    }
  }

  void push_callable() {
    const std::string_view module = line(), name = line();
    const std::string both = fmt::format("{} {}", module, name);
    const auto row = std::ranges::find(kCallables, both, &CallableRow::name);
    if (row == std::end(kCallables)) refuse("the name " + printable(both));
    push(Kind::callable, row - std::begin(kCallables));
  }

  // ("storage", torch.FloatStorage, "0", "cpu", elements)
  void push_storage(const Value& tuple) {
    const std::vector<Value>& values = tuples_[tuple.index()];
    require(values.size() == 5 && values[0].kind == Kind::text && values[0].text == "storage" &&
                values[1].kind == Kind::callable && values[2].kind == Kind::text &&
                values[3].kind == Kind::text && values[4].kind == Kind::integer,
            "a reference to something else than a storage");
    const CallableRow& row = kCallables[values[1].index()];
    require(row.callable == Callable::storage, "a storage without a type");
    const StoredMember* const member = members_.find("data/" + std::string(values[2].text));
    if (member == nullptr) refuse("the storage " + printable(values[2].text) + " without data");
    const std::int64_t elements = values[4].number;
    const std::size_t most = member->size / safetensors_bytes(row.type);
    if (elements < 0 || static_cast<std::uint64_t>(elements) > most) {
      refuse(fmt::format("a storage of {} elements in {} bytes", elements, member->size));
    }
    const auto [known, is_new] = storage_of_.try_emplace(values[2].text, storages_.size());
    if (is_new) {
      storages_.push_back({.type = row.type, .begin = member->begin, .elements = elements});
      stored_bytes_ += member->size;
    }
    const Storage& storage = storages_[known->second];
    require(storage.type == row.type && storage.elements == elements, "a storage of two kinds");
    push(Kind::storage, static_cast<std::int64_t>(known->second));
  }

  void call(const Value& function, const std::vector<Value>& arguments) {
    switch (kCallables[function.index()].callable) {
      case Callable::ordered_dictionary:
        require(arguments.empty(), "a dictionary with arguments");
        return push_dictionary();
      case Callable::rebuild_tensor:
        return push_tensor(arguments);
      case Callable::rebuild_parameter:  // (tensor, requires_grad, hooks)
        require(arguments.size() == 3 && arguments[0].kind == Kind::tensor,
                "a parameter that is no tensor");
        stack_.push_back(arguments[0]);
        return;
      case Callable::storage:
        break;
    }
    refuse("a call of a type");
  }

  // (storage, offset, sizes, strides, requires_grad, hooks)
  void push_tensor(const std::vector<Value>& arguments) {
    require(arguments.size() == 6 && arguments[0].kind == Kind::storage &&
                arguments[1].kind == Kind::integer && arguments[2].kind == Kind::tuple &&
                arguments[3].kind == Kind::tuple && arguments[4].kind == Kind::flag &&
                arguments[5].kind == Kind::dictionary,
            "other arguments than a tensor's");
    const Storage& storage = storages_[arguments[0].index()];
    SafetensorsEntry entry = {.name = "",
                              .type = storage.type,
                              .shape = sizes(arguments[2]),
                              .strides = sizes(arguments[3])};
    require(entry.shape.size() == entry.strides.size(), "a tensor with other strides than sizes");
    const std::optional<std::int64_t> span = span_of(entry);
    const std::int64_t offset = arguments[1].number;
    require(span && offset >= 0 && offset <= storage.elements && *span <= storage.elements - offset,
            "a tensor outside its storage");
    const std::size_t size = safetensors_bytes(storage.type);
    entry.begin = storage.begin + static_cast<std::size_t>(offset) * size;
    entry.end = entry.begin + static_cast<std::size_t>(*span) * size;
    entries_ += 2 * entry.shape.size();
    tensors_.push_back(std::move(entry));
    push_last(Kind::tensor, tensors_);
  }
  std::vector<std::int64_t> sizes(const Value& tuple) const {
    const std::vector<Value>& values = tuples_[tuple.index()];
    require(values.size() <= kMostDimensions, "a tensor of more than 64 dimensions");
    std::vector<std::int64_t> result;
    for (const Value& value : values) {
      require(value.kind == Kind::integer && value.number >= 0, "a size that is no number");
      result.push_back(value.number);
    }
    return result;
  }
  // The elements from a tensor's first to its last; nothing for numbers that overflow or for a
  // tensor that has more elements than that, which repeats some.
  static std::optional<std::int64_t> span_of(const SafetensorsEntry& entry) {
    std::int64_t last = 0, elements = 1;
    bool empty = false;
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      const std::int64_t size = entry.shape[i];
      empty = empty || size == 0;
      std::int64_t step = 0;
      if (__builtin_mul_overflow(std::max<std::int64_t>(size, 1) - 1, entry.strides[i], &step) ||
          __builtin_add_overflow(last, step, &last) ||
          __builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)) {
        return std::nullopt;
      }
    }
    if (empty) return 0;
    if (elements - 1 > last) return std::nullopt;
    return last + 1;
  }

  std::vector<SafetensorsEntry> named_tensors(const Value& whole) const {
    std::map<std::string, SafetensorsEntry> tensors;
    std::uint64_t bytes = 0;
    for (const auto& [name, value] : dictionaries_[whole.index()]) {
      if (value.kind != Kind::tensor) {
        throw_failure(name_,
                      fmt::format("{} is {}, not a tensor", printable(name),
                                  kKinds[static_cast<std::size_t>(value.kind)]),
                      "the file must hold a model's state_dict alone, not a training's state");
      }
      SafetensorsEntry entry = tensors_[value.index()];
      entry.name = std::string(name);
      bytes += entry.end - entry.begin;
      if (!tensors.try_emplace(entry.name, std::move(entry)).second) {
        throw_failure(name_, "names " + printable(name) + " twice");
      }
    }
    if (bytes > kMostShares * stored_bytes_) {
      throw_failure(name_, fmt::format("describes tensors of {} bytes in storages of {}", bytes,
                                       stored_bytes_));
    }
    std::vector<SafetensorsEntry> result;
    for (auto& [name, entry] : tensors) result.push_back(std::move(entry));
    return result;
  }
};

}  // namespace

std::vector<SafetensorsEntry> parse_pickled_tensors(std::span<const std::byte> bytes,
                                                    const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_lfs_pointer(text)) throw_lfs_pointer(file);
  if (text.starts_with(kOldFormat)) {
    throw_failure(file, "is a pickle in the format before PyTorch 1.6, which is not read here",
                  "where you trust it, save it again: python -c \"import torch; "
                  "torch.save(torch.load('OLD', map_location='cpu', weights_only=True), 'NEW')\"");
  }
  if (!is_zip(bytes)) {
    throw_failure(file, "is neither an archive of torch.save nor another pickle that is read here",
                  "save the model with transformers' save_pretrained, as safetensors");
  }
  const Members members(bytes, file);
  if (members.pickle().size > kLargestPickle) {
    throw_failure(members.pickle_name(), fmt::format("has {} bytes, at most {} are read",
                                                     members.pickle().size, kLargestPickle));
  }
  return Unpickler(Members::text_of(bytes, members.pickle()), members, members.pickle_name())
      .read();
}

}  // namespace roformer
