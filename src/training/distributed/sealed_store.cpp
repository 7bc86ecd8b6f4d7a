#include "training/distributed/sealed_store.h"

#include <utility>

namespace roformer {

SealedStore::SealedStore(c10::intrusive_ptr<c10d::Store> store, JobSecret secret)
    : store_(std::move(store)), secret_(std::move(secret)), prefix_(secret_.prefix()) {}

std::vector<std::string> SealedStore::named(const std::vector<std::string>& keys) const {
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(named(key));
  return names;
}

c10::intrusive_ptr<c10d::Store> SealedStore::clone() {
  return c10::make_intrusive<SealedStore>(store_->clone(), secret_);
}

void SealedStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  const std::string sealed =
      secret_.seal(key, {reinterpret_cast<const char*>(value.data()), value.size()});
  store_->set(named(key), std::vector<std::uint8_t>(sealed.begin(), sealed.end()));
}

std::vector<std::uint8_t> SealedStore::get(const std::string& key) {
  const std::vector<std::uint8_t> sealed = store_->get(named(key));
  const std::optional<std::string> value =
      secret_.open(key, {reinterpret_cast<const char*>(sealed.data()), sealed.size()});
  if (!value) throw ForeignValue("somebody who is no process of this training wrote to the store");
  return {value->begin(), value->end()};
}

std::int64_t SealedStore::add(const std::string& key, std::int64_t value) {
  return store_->add(named(key), value);
}

bool SealedStore::deleteKey(const std::string& key) {
  return store_->deleteKey(named(key));
}

bool SealedStore::check(const std::vector<std::string>& keys) {
  return store_->check(named(keys));
}

std::int64_t SealedStore::getNumKeys() {
  return store_->getNumKeys();
}

void SealedStore::wait(const std::vector<std::string>& keys) {
  store_->wait(named(keys));
}

void SealedStore::wait(const std::vector<std::string>& keys,
                       const std::chrono::milliseconds& timeout) {
  store_->wait(named(keys), timeout);
}

const std::chrono::milliseconds& SealedStore::getTimeout() const noexcept {
  return store_->getTimeout();
}

void SealedStore::setTimeout(const std::chrono::milliseconds& timeout) {
  store_->setTimeout(timeout);
}

}  // namespace roformer
