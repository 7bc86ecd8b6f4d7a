#include "training/distributed/processes.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

namespace roformer {
namespace {

class NothingPending : public PendingExchange {
 public:
  void wait() override {}
};

class SingleProcess : public Processes {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t count() const override { return 1; }
  std::int64_t local_count() const override { return 1; }
  std::int64_t local_rank() const override { return 0; }
  std::unique_ptr<PendingExchange> begin_sum(at::Tensor) override { return nothing(); }
  std::unique_ptr<PendingExchange> begin_exchange(at::Tensor received, at::Tensor sent) override {
    received.copy_(sent);
    return nothing();
  }
  std::unique_ptr<PendingExchange> begin_gather(at::Tensor all, at::Tensor own) override {
    all[0].copy_(own);
    return nothing();
  }
  void take_from_first(at::Tensor) override {}
  std::string use_gpu(const std::string&) override { return ""; }
  void alive() override {}
  std::shared_ptr<void> busy() override { return nullptr; }
  bool stops(bool own) override { return own; }
  void leave(const std::string&) noexcept override {}

 private:
  static std::unique_ptr<PendingExchange> nothing() { return std::make_unique<NothingPending>(); }
};

}  // namespace

std::unique_ptr<Processes> make_single_process() {
  return std::make_unique<SingleProcess>();
}

std::vector<std::vector<double>> gather_numbers(Processes& processes, std::span<const double> own) {
  const auto width = static_cast<std::int64_t>(own.size());
  const at::Tensor sent = at::empty({width}, at::kDouble);
  const at::Tensor all = at::empty({processes.count(), width}, at::kDouble);
  std::copy(own.begin(), own.end(), sent.data_ptr<double>());
  processes.begin_gather(all, sent)->wait();
  std::vector<std::vector<double>> rows;
  const double* row = all.const_data_ptr<double>();
  for (std::int64_t r = 0; r < processes.count(); ++r, row += width) {
    rows.emplace_back(row, row + width);
  }
  return rows;
}

std::vector<double> sum_numbers(Processes& processes, std::span<const double> own) {
  std::vector<double> sums(own.size());
  for (const std::vector<double>& row : gather_numbers(processes, own)) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  }
  return sums;
}

std::vector<std::string> gather_texts(Processes& processes, const std::string& own) {
  const double length = static_cast<double>(own.size());
  std::vector<std::size_t> lengths;
  for (const auto& row : gather_numbers(processes, {&length, 1})) {
    lengths.push_back(static_cast<std::size_t>(row[0]));
  }
  // A row is as long as the longest; never empty.
  const auto width = static_cast<std::int64_t>(*std::ranges::max_element(lengths)) + 1;
  const at::Tensor sent = at::empty({width}, at::kByte);
  const at::Tensor all = at::empty({processes.count(), width}, at::kByte);
  sent.zero_();
  std::memcpy(sent.data_ptr<std::uint8_t>(), own.data(), own.size());
  processes.begin_gather(all, sent)->wait();
  std::vector<std::string> texts;
  const auto* row = reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>());
  for (const std::size_t size : lengths) {
    texts.emplace_back(row, size);
    row += width;
  }
  return texts;
}

std::string text_of_first(Processes& processes, const std::string& own) {
  const at::Tensor size = at::empty({1}, at::kLong);
  size.fill_(static_cast<std::int64_t>(own.size()));
  processes.take_from_first(size);
  const at::Tensor bytes = at::empty({size.item<std::int64_t>() + 1}, at::kByte);
  bytes.zero_();
  if (processes.first()) std::memcpy(bytes.data_ptr<std::uint8_t>(), own.data(), own.size());
  processes.take_from_first(bytes);
  return {reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()),
          static_cast<std::size_t>(size.item<std::int64_t>())};
}

void barrier(Processes& processes) {
  const double nothing = 0;
  gather_numbers(processes, {&nothing, 1});
}

}  // namespace roformer
