#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"
#include "shale/trees/hdf5_sample_values.hpp"

namespace shale {

/// The field that says which group a step is of, and the one that says which step it is.
inline constexpr std::string_view kEpisodeField = "episode", kStepOfEpisodeField = "step";

/// What all samples say of a path.
struct Hdf5SampleField {
  Hdf5SampleValue first;  // without its bytes
  std::string first_of;   // the name of its sample
  bool is_of_steps = false;
  std::vector<std::uint64_t> shape;  // kFreeSide where they differ
  bool is_utf8 = true;
  std::uint64_t samples = 0;
  std::string name;
};

/// The groups of a file by form: two are of one form if they have a path in common, or both have
/// one in common with others. Only the first groups say what the file is like: what comes later,
/// and shares nothing with most, is not a sample.
class Hdf5GroupForms {
 public:
  // The form with most groups, or nothing.
  [[nodiscard]] std::optional<std::size_t> largest() const {
    const auto most = std::ranges::max_element(forms_, {}, &GroupForm::groups);
    if (most == forms_.end()) return std::nullopt;
    return static_cast<std::size_t>(most - forms_.begin());
  }
  [[nodiscard]] std::size_t form_of(const std::string& path) const { return forms_by_.at(path); }

  void add(const std::string& group, std::uint64_t samples, const std::vector<std::string>& paths) {
    if (paths.empty()) return;
    const auto [at, is_new] = forms_by_.try_emplace(paths.front(), forms_.size());
    if (is_new) forms_.emplace_back();
    const std::size_t form = at->second;
    for (const std::string& path : paths) {
      const std::size_t other = forms_by_.try_emplace(path, form).first->second;
      if (other != form) join(other, form);
    }
    GroupForm& of = forms_[form];
    ++of.groups;
    of.samples += samples;
    if (of.names.size() < kMostNames) of.names.push_back(group);
  }

  struct GroupForm {
    std::uint64_t groups = 0, samples = 0;
    std::vector<std::string> names;  // the first
  };
  // Those that were joined with others are empty.
  [[nodiscard]] const std::vector<GroupForm>& all() const { return forms_; }

 private:
  static constexpr std::size_t kMostNames = 8;

  void join(std::size_t from, std::size_t into) {
    for (auto& [path, form] : forms_by_)
      if (form == from) form = into;
    GroupForm& left = forms_[from];
    forms_[into].groups += left.groups;
    forms_[into].samples += left.samples;
    std::ranges::copy(left.names, std::back_inserter(forms_[into].names));
    if (forms_[into].names.size() > kMostNames) forms_[into].names.resize(kMostNames);
    left = {};
  }

  std::map<std::string, std::size_t> forms_by_;  // path -> its form
  std::vector<GroupForm> forms_;
};

/// The name of a path as a field.
[[nodiscard]] std::string hdf5_sample_field_name(const std::string& path);

/// What the samples of a file (or, with steps, its episodes) have in common: their schema, from
/// every one of them. Errors: Code::unsupported, by sample and path, where values differ in type or
/// rank, or the datasets of an episode in length.
class Hdf5SampleFields {
 public:
  Hdf5SampleFields(bool has_steps, std::string parent)
      : has_steps_(has_steps), parent_(std::move(parent)) {}

  void add(const Hdf5WalkedSample& sample);
  /// What is neither a value nor a group: "link 'a/b'".
  void add_other(const std::string& what);
  /// After the last. Unless they are asked for, groups unlike most others are left out.
  [[nodiscard]] Schema finish(bool is_asked_for);

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] UnpackReport& report() { return report_; }

  // Once finished:
  [[nodiscard]] bool is_left_out(const Hdf5WalkedSample& sample) const;
  /// Where a value is in the schema; nullopt: it is left out.
  [[nodiscard]] std::optional<std::size_t> place_of(const Hdf5SampleValue& value) const;
  /// Errors: Code::mismatch for a value that is not what it was.
  [[nodiscard]] const Hdf5SampleField& field_of(const Hdf5SampleValue& value) const;
  [[nodiscard]] std::uint64_t steps_of(const Hdf5WalkedSample& sample) const;
  [[nodiscard]] static bool has_rows(const Hdf5SampleValue& value, std::uint64_t rows);
  [[nodiscard]] static Error differs(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value,
                                     const Hdf5SampleField& field);

 private:
  [[nodiscard]] bool fold(const Hdf5WalkedSample& sample, const Hdf5SampleValue& value,
                          std::uint64_t steps);
  void leave_out(LeftOut what, const std::string& words);
  void leave_out(const Hdf5SampleValue& value, std::string_view reason, std::string_view what);
  void leave_out_other_forms();
  [[nodiscard]] Error nothing_in_common() const;
  [[nodiscard]] Schema make_schema();

  bool has_steps_;
  std::string parent_;
  std::map<std::string, Hdf5SampleField> fields_;
  Hdf5GroupForms forms_;
  std::set<std::string> other_forms_;          // paths of groups that are left out
  std::map<std::string, std::size_t> places_;  // of a path, in the schema
  std::set<std::string> notes_;
  UnpackReport report_;
  std::uint64_t samples_ = 0, groups_ = 0, bytes_ = 0;
  bool are_episodes_ = true;
};

}  // namespace shale
