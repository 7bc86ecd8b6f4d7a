#include "report/html.h"

#include <fmt/format.h>

#include "base/error.h"
#include "report/svg.h"

namespace roformer {
namespace {

// The style sheet and the scripts of every page.
constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#1b2330;--soft:#5a6574;--rule:#dfe3e8;--accent:#0b68b0;--best:#eaf3fb}
@media screen and (prefers-color-scheme:dark){
:root{--page:#0e1217;--card:#151a21;--text:#e6eaf0;--soft:#98a4b3;--rule:#29303a;--accent:#62b1f2;--best:#172a3a}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans","Liberation Sans",sans-serif}
main{max-width:880px;margin:0 auto;padding:48px 24px 64px}
h1{font-size:30px;line-height:1.2;letter-spacing:-.015em;margin:0 0 8px;font-weight:650;overflow-wrap:anywhere}
.subtitle{color:var(--soft);margin:0 0 20px;font-size:17px;max-width:68ch;overflow-wrap:anywhere}
nav{font-size:14px;margin:0 0 28px;display:flex;flex-wrap:wrap;gap:4px 18px}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
h2{font-size:20px;line-height:1.3;letter-spacing:-.01em;margin:44px 0 12px;font-weight:620}
p{margin:0 0 16px;max-width:68ch;overflow-wrap:break-word}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.88em}
code{background:var(--card);border:1px solid var(--rule);border-radius:4px;padding:1px 4px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 24px}
.figures div{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:14px 16px}
.figures b{display:block;font-size:21px;overflow-wrap:break-word;line-height:1.2;font-weight:620;font-variant-numeric:tabular-nums}
.figures span{display:block;color:var(--soft);font-size:13px;margin-top:2px}
figure{margin:0 0 24px;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:6px;position:relative;overflow-x:auto}
figure:has(>.scroll){overflow:visible}
figure svg{display:block;max-width:100%;height:auto}
figure h3{font-size:15px;font-weight:600;margin:10px 10px 2px}figure>p{font-size:13px;color:var(--soft);margin:0 10px 8px}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(340px,100%),1fr));gap:4px 8px}
.maps{display:flex;flex-wrap:wrap;align-items:flex-end;gap:4px 8px}
.narrow{display:none}
.pad{visibility:hidden;user-select:none}
figcaption{color:var(--soft);font-size:14px;padding:10px 10px 6px;max-width:72ch}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--card) 32px,transparent) left/64px 100% local no-repeat,
linear-gradient(270deg,var(--card) 32px,transparent) right/64px 100% local no-repeat,
linear-gradient(90deg,var(--rule),transparent) left/14px 100% no-repeat,
linear-gradient(270deg,var(--rule),transparent) right/14px 100% no-repeat}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:14.5px;font-variant-numeric:tabular-nums}
th,td{padding:7px 10px;text-align:left;white-space:nowrap}
th{font-weight:600;color:var(--soft);font-size:13px;border-bottom:1px solid var(--rule);vertical-align:bottom;white-space:normal}
tbody tr+tr td{border-top:1px solid var(--rule)}
td.words:not(.right){white-space:normal}td.words+td.words:not(.right){overflow-wrap:break-word}
td.long{overflow-wrap:anywhere;min-width:18ch}
.right{text-align:right}.center{text-align:center}
td.best{font-weight:650;background:var(--best)}
details{margin:0 0 16px}summary{cursor:pointer;color:var(--accent)}
pre{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:14px 16px;overflow-x:auto;line-height:1.45}
.filter{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:0 0 10px;font-size:14px}
.filter>span{color:var(--soft);min-width:4.5em}
.filter button{font:inherit;color:var(--text);background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:3px 11px;cursor:pointer}
.filter button[aria-pressed=true]{border-color:var(--accent);background:var(--best);color:var(--accent)}
footer{margin-top:48px;padding-top:16px;border-top:1px solid var(--rule);color:var(--soft);font-size:13.5px;white-space:pre-line;overflow-wrap:anywhere}
@media screen and (min-width:960px){
figure:has(>.scroll){width:fit-content;min-width:100%;max-width:min(1240px,100vw - 64px);margin-left:50%;transform:translateX(-50%)}}
.tip{position:absolute;pointer-events:none;background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:6px 10px;
font-size:12.5px;line-height:1.45;box-shadow:0 4px 14px rgba(0,0,0,.16);white-space:nowrap;font-variant-numeric:tabular-nums;z-index:1}
.tip i{display:inline-block;width:10px;height:3px;margin-right:7px;vertical-align:middle;background:currentColor}
.tip b{float:right;margin-left:16px;color:var(--text);font-weight:600}.tip span{color:var(--text)}
@media screen and (max-width:640px){
.wide{display:none}.narrow{display:block}
main{padding:24px 12px 40px}h1{font-size:25px}figure{padding:4px}
table{font-size:13.5px}th,td{padding:6px 8px}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card)}
}
@media print{body{background:none}main{max-width:none;padding:0}nav,.filter{display:none}
figure,.figures div{break-inside:avoid}h2{break-after:avoid}a{color:inherit}
.scroll{overflow:visible;background:none}table{font-size:11px}th,td{padding:3px 5px;white-space:normal}td.long{min-width:0}}
)";

// Shows the values of all lines of a chart at the pointer.
constexpr std::string_view kPageScript = R"js(
for (const svg of document.querySelectorAll('svg[data-x]')) {
  const figure = svg.closest('figure'), ns = 'http://www.w3.org/2000/svg';
  const [x, y] = [JSON.parse(svg.dataset.x), JSON.parse(svg.dataset.y)];
  const value = (s, p) => { const t = (p - s[2]) / s[3];
    return s[4] ? s[0] * Math.pow(s[1] / s[0], t) : s[0] + t * (s[1] - s[0]); };
  const show = v => Math.abs(v) >= 1e4 ? Math.round(v).toLocaleString('en') : String(+v.toPrecision(4));
  const lines = [...svg.querySelectorAll('path[data-name]')].map(path => ({
    name: path.dataset.name, colour: getComputedStyle(path).stroke,
    points: [...path.getAttribute('d').matchAll(/[ML](\S+?) ([^ML]+)/g)].map(m => [+m[1], +m[2]]) }));
  const rule = svg.appendChild(document.createElementNS(ns, 'line'));
  const tip = figure.appendChild(document.createElement('div'));
  rule.setAttribute('class', 'axis'); rule.style.pointerEvents = 'none'; tip.className = 'tip';
  const hide = () => { rule.style.display = tip.style.display = 'none'; };
  hide(); svg.addEventListener('pointerleave', hide);
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const at = (event.clientX - box.left) * scale;
    if (at < x[2] - 4 || at > x[2] + x[3] + 4) return hide();
    const near = lines.filter(l => l.points.length).map(l => ({ ...l, point: l.points.reduce((a, b) =>
      Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a) }));
    if (!near.length) return;
    const best = near.reduce((a, b) => Math.abs(b.point[0] - at) < Math.abs(a.point[0] - at) ? b : a).point[0];
    for (const [k, v] of [['x1', best], ['x2', best], ['y1', y[2]], ['y2', y[2] + y[3]]]) rule.setAttribute(k, v);
    tip.replaceChildren();
    const head = tip.appendChild(document.createElement('span'));
    head.textContent = svg.dataset.xTitle + ' ' + show(value(x, best));
    for (const l of near.filter(l => Math.abs(l.point[0] - best) < 8).sort((a, b) => a.point[1] - b.point[1])) {
      const row = tip.appendChild(document.createElement('div')); row.style.color = l.colour;
      row.appendChild(document.createElement('i'));
      row.appendChild(document.createElement('span')).textContent = l.name;
      row.appendChild(document.createElement('b')).textContent = show(value(y, l.point[1]));
    }
    rule.style.display = tip.style.display = '';
    const own = figure.getBoundingClientRect(), left = event.clientX - own.left + 16;
    tip.style.left = (left + tip.offsetWidth > own.width - 8 ? left - tip.offsetWidth - 32 : left) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY - own.top - 20, own.height - tip.offsetHeight - 4)) + 'px';
  });
}
)js";

// Makes the buttons of HtmlReport::begin_part and hides the parts that are not chosen.
constexpr std::string_view kFilterScript = R"js(
const chosen = {}, parts = [...document.querySelectorAll('[data-filter]')];
const apply = () => {
  for (const p of parts) p.hidden = chosen[p.dataset.filter] && chosen[p.dataset.filter] !== p.dataset.value;
  const keys = on => new Set(parts.filter(p => p.dataset.column && (!chosen[p.dataset.filter] ||
    chosen[p.dataset.filter] === p.dataset.value) === on).map(p => p.dataset.column));
  const shown = keys(true), away = keys(false);
  for (const th of document.querySelectorAll('th[data-key]')) {
    const hidden = away.has(th.dataset.key) && !shown.has(th.dataset.key);
    for (const tr of th.closest('table').rows) tr.cells[th.cellIndex].hidden = hidden;
  }
};
for (const name of [...new Set(parts.map(p => p.dataset.filter))].reverse()) {
  const values = [...new Set(parts.filter(p => p.dataset.filter === name).map(p => p.dataset.value))];
  if (values.length < 2) continue;
  const row = document.createElement('div'); row.className = 'filter';
  row.appendChild(document.createElement('span')).textContent = name;
  for (const value of ['', ...values]) {
    const button = row.appendChild(document.createElement('button'));
    button.textContent = value || 'all'; button.setAttribute('aria-pressed', !value);
    button.addEventListener('click', () => { chosen[name] = value;
      for (const b of row.querySelectorAll('button')) b.setAttribute('aria-pressed', b === button); apply(); });
  }
  document.querySelector('.subtitle').after(row);
}
)js";

// Escapes, and turns `code` and **bold** into elements; an opening mark without its end is text.
std::string inline_markup(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kMarks[] = {{"`", "code"},
                                                                             {"**", "strong"}};
  std::string result;
  while (!text.empty()) {
    bool marked = false;
    for (const auto& [mark, element] : kMarks) {
      const std::size_t end = text.find(mark, mark.size());
      if (!text.starts_with(mark) || end == std::string_view::npos) continue;
      result += fmt::format("<{0}>{1}</{0}>", element,
                            escape_xml(text.substr(mark.size(), end - mark.size())));
      text.remove_prefix(end + mark.size());
      marked = true;
      break;
    }
    if (marked) continue;
    const std::size_t next = std::min(text.find_first_of("`*", 1), text.size());
    result += escape_xml(text.substr(0, next));
    text.remove_prefix(next);
  }
  return result;
}

std::string_view alignment_class(Column::Alignment alignment) {
  return alignment == Column::Alignment::left    ? ""
         : alignment == Column::Alignment::right ? "right"
                                                 : "center";
}

constexpr std::size_t kLongWords = 48;  // bytes; a command or a path, which may break anywhere

constexpr int kNarrowWidth = 352;  // a figure's on a telephone of 400 pixels

template <typename Chart>
std::string at_both_widths(const Chart& chart) {
  Chart narrow = chart;
  narrow.width = kNarrowWidth;
  return "<div class=\"wide\">\n" + to_svg(chart, SvgUse::embedded) +
         "</div><div class=\"narrow\">\n" + to_svg(narrow, SvgUse::embedded) + "</div>";
}

}  // namespace

std::string to_html(const Table& table) {
  std::string result = "<table>\n<thead><tr>";
  for (const Column& column : table.columns()) {
    result +=
        fmt::format("<th class=\"{}\" data-key=\"{}\">{}</th>", alignment_class(column.alignment),
                    escape_xml(column.name()), escape_xml(column.heading()));
  }
  result += "</tr></thead>\n<tbody>\n";
  // Cells without a deviation get the column's longest one, hidden, so that the means are aligned.
  std::vector<std::string> deviations;
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    deviations.push_back(table.longest_deviation(column));
  }
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    result += "<tr>";
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      const bool words = std::holds_alternative<std::string>(table.rows()[row][column]);
      const std::string text = table.text(row, column);
      std::string unseen;
      if (!words && !deviations[column].empty() && table.deviation_text(row, column).empty()) {
        unseen = "<span class=\"pad\" aria-hidden=\"true\">" + deviations[column] + "</span>";
      }
      result += fmt::format("<td class=\"{}{}{}\">{}{}</td>",
                            alignment_class(table.columns()[column].alignment),
                            table.is_best(row, column) ? " best" : "",
                            !words                     ? ""
                            : text.size() > kLongWords ? " words long"
                                                       : " words",
                            escape_xml(text), unseen);
    }
    result += "</tr>\n";
  }
  return result + "</tbody>\n</table>\n";
}

void HtmlReport::section(std::string_view title) {
  sections_.emplace_back(title);
  body_ += fmt::format("<h2 id=\"section-{}\">{}</h2>\n", sections_.size(), escape_xml(title));
}

void HtmlReport::paragraph(std::string_view text) {
  body_ += "<p>" + inline_markup(text) + "</p>\n";
}

void HtmlReport::key_figures(const std::vector<KeyFigure>& figures) {
  body_ += "<div class=\"figures\">\n";
  for (const KeyFigure& figure : figures) {
    body_ += fmt::format("<div><b>{}</b><span>{}</span>", escape_xml(figure.value),
                         escape_xml(figure.name));
    if (!figure.remark.empty()) body_ += "<span>" + escape_xml(figure.remark) + "</span>";
    body_ += "</div>\n";
  }
  body_ += "</div>\n";
}

void HtmlReport::table(const Table& table, std::string_view caption) {
  body_ += "<figure>\n<div class=\"scroll\">" + to_html(table) + "</div>\n";
  if (!caption.empty()) body_ += "<figcaption>" + inline_markup(caption) + "</figcaption>\n";
  body_ += "</figure>\n";
}

void HtmlReport::chart(const LineChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const DotChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const ShareChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const HeatMapGrid& grid) {
  std::string panels;
  for (const HeatMap& map : grid.maps) panels += to_svg(map, SvgUse::embedded);
  side_by_side(grid.title, grid.subtitle, "maps", panels);
}

void HtmlReport::chart(const LineChartGrid& grid) {
  std::string panels;
  for (LineChart panel : grid.panels) {
    panel.width = kNarrowWidth;
    panel.height = grid.panel_height;
    panels += to_svg(panel, SvgUse::embedded);
  }
  side_by_side(grid.title, grid.subtitle, "panels", panels);
}

void HtmlReport::side_by_side(std::string_view title, std::string_view subtitle,
                              std::string_view css_class, std::string_view panels) {
  body_ += fmt::format("<figure>\n<h3>{}</h3>\n<p>{}</p>\n<div class=\"{}\">\n{}</div></figure>\n",
                       escape_xml(title), escape_xml(subtitle), css_class, panels);
}

void HtmlReport::begin_part(const Part& part) {
  body_ += fmt::format("<div data-filter=\"{}\" data-value=\"{}\" data-column=\"{}\">\n",
                       escape_xml(part.filter), escape_xml(part.value), escape_xml(part.column));
}

void HtmlReport::figure(const std::string& svg) {
  body_ += "<figure>\n" + svg + "</figure>\n";
}

void HtmlReport::details(std::string_view summary, std::string_view preformatted) {
  body_ += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                       escape_xml(summary), escape_xml(preformatted));
}

std::string HtmlReport::html() const {
  std::string contents;
  if (sections_.size() > 1) {
    contents = "<nav>";
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      contents += fmt::format("<a href=\"#section-{}\">{}</a>", i + 1, escape_xml(sections_[i]));
    }
    contents += "</nav>\n";
  }
  const bool filters = body_.find("<div data-filter=") != std::string::npos;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n"
      "<p class=\"subtitle\">{3}</p>\n{4}{5}<footer>{6}</footer>\n</main>\n"
      "<script>{7}{8}</script>\n</body>\n</html>\n",
      escape_xml(heading_.title), kPageStyle, chart_style(), inline_markup(heading_.subtitle),
      contents, body_, inline_markup(heading_.footer), kPageScript, filters ? kFilterScript : "");
}

void require_page_name(const std::filesystem::path& page, const std::string& flag) {
  const std::string ending = page.extension().string();
  if (ending == ".html" || ending == ".htm") return;
  throw_usage(flag, page.string() + " is to be an HTML page", "a name that ends in .html");
}

}  // namespace roformer
