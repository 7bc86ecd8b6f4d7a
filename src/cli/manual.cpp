#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/version.h"
#include "cli/command.h"

namespace roformer {
namespace {

// Text as man(7) prints it: a backslash, a minus and a dot at the beginning of a line mean
// something else there.
std::string roff(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    begins = c == '\n';
  }
  return result;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  std::vector<const CLI::App*> commands = program.get_subcommands(
      [](const CLI::App* command) { return !command->get_group().empty(); });
  std::erase_if(commands, [](const CLI::App* command) { return command->get_name().empty(); });
  return commands;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command, bool positional) {
  return command.get_options([&](const CLI::Option* option) {
    const std::string group = option->get_group();
    const bool argument = option->get_positional() && !option->nonpositional();
    return argument == positional && !group.empty() && group != kSettingsGroup;
  });
}

// "--checkpoint TEXT (default: best)"
std::string option_head(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "--" : ", --") + name;
  }
  std::string text = names.empty() ? italic(option.get_name(true)) : bold(names);
  if (!names.empty() && option.get_items_expected_max() > 0 && !option.get_type_name().empty()) {
    text += " " + italic(option.get_type_name());
  }
  const std::string standard = option.get_default_str();
  return standard.empty() ? text : text + " (default: " + roff(standard) + ")";
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : options_of(command, positional)) {
      text += ".TP\n" + option_head(*option) + "\n" + roff(option->get_description()) + "\n";
    }
  }
  return text;
}

std::string synopsis(const CLI::App& command, const std::string& name) {
  std::string text = bold(name) + " [" + italic("OPTIONS") + "]";
  for (const CLI::Option* option : options_of(command, /*positional=*/true)) {
    const bool several = option->get_items_expected_max() > 1;
    const std::string argument = italic(option->get_name(true)) + (several ? " ..." : "");
    text += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return text + "\n";
}

// The footer's columns stay as they are, between .nf and .fi.
std::string footer_text(const CLI::App& command) {
  const std::string footer = footer_of(command);
  return footer.empty() ? "" : ".nf\n" + roff(footer) + ".fi\n";
}

std::string head_of(const std::string& page, const std::string& summary) {
  std::string title = page;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(
      ".\\\" Written by roformer from its help.\n"
      ".TH \"{}\" 1 \"\" \"roformer {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
      roff(title), kVersion, roff(page), roff(summary));
}

std::string page_of(const CLI::App& command, const std::string& name) {
  const std::vector<const CLI::App*> inner = commands_of(command);
  std::string text = head_of("roformer-" + command.get_name(), command.get_description());
  if (inner.empty()) text += synopsis(command, name);
  for (const CLI::App* one : inner) {
    if (one != inner.front()) text += ".br\n";
    text += synopsis(*one, name + " " + one->get_name());
  }
  if (const std::string footer = footer_text(command); !footer.empty()) {
    text += ".SH DESCRIPTION\n" + footer;
  }
  text += ".SH OPTIONS\n" + options_text(command);
  for (const CLI::App* one : inner) {
    text += ".SS " + roff("\"" + name + " " + one->get_name() + "\"") + "\n" +
            roff(one->get_description()) + "\n" + footer_text(*one) + options_text(*one);
  }
  return text + ".SH SEE ALSO\n.BR roformer (1)\n";
}

}  // namespace

std::map<std::string, std::string> manual_pages(const CLI::App& program) {
  std::map<std::string, std::string> pages;
  std::string text = head_of("roformer", program.get_description());
  text += bold("roformer") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]\n";
  std::string group;
  for (const CLI::App* command : commands_of(program)) {
    if (command->get_group() != group) {
      group = command->get_group();
      std::string title = group;
      std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
      text += ".SH \"" + roff(title) + "\"\n";
    }
    const std::string page = "roformer-" + command->get_name();
    text += ".TP\n.BR \"" + roff(page) + "\" (1)\n" + roff(command->get_description()) + "\n";
    pages[page + ".1"] = page_of(*command, "roformer " + command->get_name());
  }
  text += ".SH OPTIONS\n" + options_text(program);
  text +=
      ".SH \"EXIT STATUS\"\n0: done; 1: failure; 2: a mistake in the command line or the "
      "configuration; 70: a bug of this program.\n";
  pages["roformer.1"] = text;
  return pages;
}

}  // namespace roformer
