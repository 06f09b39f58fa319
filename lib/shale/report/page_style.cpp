#include "shale/report/page_style.hpp"

namespace shale {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --surface: #ffffff; --sunk: #eef0f0; --ink: #1b1f23; --quiet: #56606a;
  --line: #dfe3e6; --accent: #0b626f; --bar: #3d8b99; --on: #b4541b; --band: #c4dde1;
  --good: #1a6537; --good-page: #e8f4ec; --warn: #7a4b00; --warn-page: #fdf3dc;
  --bad: #9b1f26; --bad-page: #fcebeb; --note: #45505b; --note-page: #eef1f3;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #131619; --surface: #1a1e22; --sunk: #22272c; --ink: #e4e7ea; --quiet: #a0aab4;
    --line: #2f363d; --accent: #78c9d6; --bar: #4b9fae; --on: #e58a4f; --band: #234349;
    --good: #8ad7a4; --good-page: #15281c; --warn: #efc264; --warn-page: #2c2411;
    --bad: #ff9f99; --bad-page: #361c1c; --note: #b6c0c9; --note-page: #20262b;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; max-width: 84rem; padding: 0 clamp(.9rem, 3vw, 2.5rem) 4rem;
  background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
h1, h2, h3 { line-height: 1.2; font-weight: 650; text-wrap: balance; }
h1 { font-size: clamp(1.7rem, 4.5vw, 2.6rem); letter-spacing: -.02em; margin: .1rem 0 .3rem; }
h2 { font-size: 1.4rem; letter-spacing: -.01em; margin: 0 0 1rem; }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .7rem; }
p { margin: .4rem 0; }
a { color: var(--accent); text-underline-offset: .18em; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", "Liberation Mono", monospace; font-size: .9em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.quiet { color: var(--quiet); font-weight: 400; }
.scope, .empty { color: var(--quiet); font-size: .88rem; margin: .4rem 0 1rem; }
.spoken, .skip:not(:focus) {
  position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
.skip { position: absolute; top: .5rem; left: .5rem; z-index: 5; padding: .4rem .8rem; background: var(--surface); }

.top { padding: clamp(1.4rem, 4vw, 3rem) 0 1rem; }
.kicker { color: var(--accent); font-size: .8rem; font-weight: 650; letter-spacing: .08em; text-transform: uppercase; }
.path, .what { color: var(--quiet); }
.key-figures { display: flex; flex-wrap: wrap; gap: 1rem clamp(1.6rem, 4vw, 3.2rem); margin: 1.6rem 0; }
.key-figures div { display: flex; flex-direction: column-reverse; }
.key-figures dt { color: var(--quiet); font-size: .85rem; }
.key-figures dd { margin: 0; font-size: clamp(1.2rem, 3vw, 1.65rem); font-weight: 650; letter-spacing: -.01em; line-height: 1.25; }
.highlights { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .6rem; margin: 0; padding: 0; list-style: none; }
.highlights .message { height: 100%; margin: 0; }
.message { display: flex; gap: .7rem; padding: .55rem .8rem; border-radius: 6px; background: var(--note-page); font-size: .93rem; }
.message strong { flex: none; color: var(--note); min-width: 4.8rem; font-weight: 650; }
.message.good { background: var(--good-page); } .message.good strong { color: var(--good); }
.message.warn { background: var(--warn-page); } .message.warn strong { color: var(--warn); }
.message.bad { background: var(--bad-page); } .message.bad strong { color: var(--bad); }
.message a { color: inherit; }

.sections ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 0; padding: .8rem 0; list-style: none; border-block: 1px solid var(--line); }
.sections a { text-decoration: none; font-size: .93rem; display: block; padding: .25rem 0; }
.sections a:hover { text-decoration: underline; }
main > section { padding: 2.4rem 0 .6rem; }
main > section + section { border-top: 1px solid var(--line); margin-top: 2.2rem; }

.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(10.5rem, 100%), 1fr)); gap: .7rem 1.5rem; margin: 0 0 1rem; }
.facts dt { color: var(--quiet); font-size: .82rem; }
.facts dd { margin: 0; } .facts dd > .quiet { display: block; font-size: .85rem; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 0 2.2rem; align-items: start; }
.two > * { min-width: 0; }

.filter, label[for=masks] { font-size: .93rem; }
.filter { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .7rem; margin: .6rem 0; }
.filter input { font: inherit; color: inherit; background: var(--surface); border: 1px solid var(--quiet); border-radius: 6px; padding: .3rem .6rem; width: min(18rem, 100%); }
#filter-count { color: var(--quiet); }
#masks { accent-color: var(--accent); width: 1.05rem; height: 1.05rem; vertical-align: -.15rem; }
#masks:not(:checked) ~ .sheets .mask { display: none; }

.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.2rem, 1fr)); gap: 1.1rem .8rem; margin: 0; padding: 0; list-style: none; }
.tiles li { min-width: 0; }
.sample { margin: 0; font-size: .8rem; line-height: 1.35; }
.open { position: relative; display: block; aspect-ratio: 1; margin-bottom: .35rem; overflow: hidden; border-radius: 5px; background: var(--sunk); color: inherit; text-decoration: none; scroll-margin-top: 30vh; }
.open:hover { outline: 2px solid var(--bar); outline-offset: 1px; }
.open:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 5px; }
.open img { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
img.small { image-rendering: pixelated; }
.mask { opacity: .62; }
.badge { position: absolute; right: .35rem; bottom: .35rem; padding: 0 .4rem; border-radius: 3px; background: #101418; color: #ffffff; font-size: .75rem; }
.no-picture, .values { position: absolute; inset: 0; display: flex; flex-direction: column; gap: .35rem; padding: .6rem; overflow: hidden; }
.no-picture { align-items: center; justify-content: center; text-align: center; color: var(--quiet); }
.no-picture svg { flex: none; width: 2.4rem; height: 2rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.no-picture.damaged { color: var(--bad); background: var(--bad-page); }
.no-picture .reason { overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; line-clamp: 4; }
.values { gap: .15rem; } .values b { color: var(--quiet); font-weight: 500; }
.value { display: block; }
.sample figcaption { display: flex; flex-wrap: wrap; gap: .1rem .6rem; align-items: baseline; }
.sample .key { flex: 1 0 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 550; }
.chip { display: inline-block; max-width: 100%; margin-right: .1rem; padding: 0 .4rem; border-radius: 3px; background: var(--sunk); color: var(--ink); font-size: .8rem; font-weight: 500; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
.chip.odd { background: var(--warn-page); color: var(--warn); }
.controls, .sample-facts, .frames { display: none; }

.sample:target { position: fixed; inset: 0; z-index: 10; display: grid; grid-template: auto minmax(min-content, 1fr) auto / minmax(0, 1fr) minmax(16rem, 23rem); gap: .8rem 2rem; padding: clamp(.8rem, 2.5vw, 2rem); overflow: auto; background: var(--page); font-size: .95rem; }
.sample:target .controls { display: flex; gap: 1.4rem; justify-content: flex-end; grid-area: 1 / 1 / 2 / 3; margin: 0; }
.sample:target .open { grid-area: 2 / 1 / 3 / 2; aspect-ratio: auto; min-height: 14rem; margin: 0; background: none; outline: none; pointer-events: none; }
.sample:target .frames { display: flex; flex-wrap: wrap; gap: .4rem; grid-area: 3 / 1 / 4 / 3; }
.frames img { height: clamp(4rem, 14vh, 8rem); width: auto; border-radius: 4px; flex: none; }
.sample:target figcaption { grid-area: 2 / 2 / 3 / 3; display: block; }
.sample:target figcaption > span { display: none; }
.sample:target .sample-facts { display: grid; grid-template-columns: 1fr; }
.sample:target .no-picture, .sample:target .values { font-size: 1rem; border-radius: 6px; }
.sample:target .reason { -webkit-line-clamp: none; line-clamp: none; display: block; max-width: 40rem; }
.sample:target .values { overflow: auto; }
.controls a { padding: .2rem 0; }

.plot { margin: 1rem 0 1.4rem; min-width: 0; }
.plot figcaption { font-weight: 600; font-size: .95rem; }
.chart { display: block; overflow: visible; }
.chart text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; fill: var(--quiet); }
.with-axis { padding-left: 4.1rem; }
.grid { stroke: var(--line); } .axis { stroke: var(--quiet); }
.bar { fill: var(--bar); } .bar.on { fill: var(--on); } .bars .bar:hover { fill: var(--accent); }
.band { fill: var(--band); } .line { fill: none; stroke: var(--accent); stroke-width: 1.75px; stroke-linejoin: round; }
.track { fill: var(--sunk); } .knob { fill: var(--accent); stroke: var(--page); stroke-width: 2; }
.share, .scale, .sparkline { display: block; }
.score { max-width: 34rem; } .score p { margin: .3rem 0; } .score strong { font-size: 1.3rem; }
.ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--quiet); font-size: .85rem; }

table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .3rem 0; }
caption { text-align: start; font-weight: 600; padding: .3rem 0 .5rem; }
th, td { text-align: start; vertical-align: top; padding: .32rem .9rem .32rem 0; border-bottom: 1px solid var(--line); }
th[scope=row] { font-weight: 500; }
th[scope=row], .words { min-width: 7.2rem; }
thead th, thead td { color: var(--quiet); font-weight: 550; font-size: .85rem; }
.number { text-align: end; white-space: nowrap; }
.bar-cell { width: 38%; min-width: 4rem; vertical-align: middle; padding-right: 0; }
.counts { margin-bottom: 1.4rem; } .counts .bar-cell { width: 50%; }
.sortable thead th { position: sticky; top: 0; background: var(--page); }
th button { all: unset; cursor: pointer; }
th button:hover { color: var(--accent); text-decoration: underline; }
th button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
th[aria-sort] button::after { content: " ↑"; } th[aria-sort=descending] button::after { content: " ↓"; }
.scroll { max-height: 27rem; overflow: auto; margin: .6rem 0 1.2rem; }
details { margin: .4rem 0 1rem; }
summary { cursor: pointer; color: var(--accent); font-size: .9rem; width: fit-content; }
.class-list { columns: 14rem; column-gap: 2rem; list-style: none; margin: 0; padding: 0; font-size: .88rem; }
.class-list b { font-weight: 500; color: var(--quiet); }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.2rem; margin-top: 1.4rem; }
.field { min-width: 0; padding: 1rem 1.2rem .4rem; border: 1px solid var(--line); border-radius: 8px; }
.field h3 { margin-top: 0; }
.field .facts { grid-template-columns: repeat(auto-fill, minmax(6.2rem, 1fr)); font-size: .92rem; }
.previews { display: grid; gap: .8rem; margin: .6rem 0; padding: 0; list-style: none; font-size: .8rem; }
.previews.images { grid-template-columns: repeat(auto-fill, minmax(6rem, 1fr)); }
.previews.words { grid-template-columns: repeat(auto-fill, minmax(min(11rem, 100%), 1fr)); }
.previews figure { margin: 0; } .previews li { min-width: 0; }
.previews img { width: 100%; height: auto; max-height: 10rem; object-fit: contain; background: var(--sunk); border-radius: 4px; }
.sample-text { display: block; padding: .5rem .6rem; background: var(--sunk); border-radius: 4px; white-space: pre-wrap; max-height: 9rem; overflow: hidden; }

.snippet h3 { margin-bottom: .3rem; }
.code { margin: 0 0 1rem; padding: .8rem 1rem; overflow-x: auto; background: var(--sunk); border-radius: 6px; line-height: 1.45; overflow-wrap: normal; tab-size: 4; }
.copy { float: right; margin: .4rem; padding: .1rem .6rem; font: inherit; font-size: .82rem; color: var(--ink); background: var(--surface); border: 1px solid var(--line); border-radius: 5px; cursor: pointer; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .88rem; }

@media (min-width: 68rem) {
  body { display: grid; grid-template: auto 1fr auto / 10.5rem minmax(0, 1fr); column-gap: 3rem; }
  .top { grid-area: 1 / 1 / 2 / 3; }
  .sections { grid-area: 2 / 1 / 3 / 2; }
  main { grid-area: 2 / 2 / 3 / 3; } footer { grid-area: 3 / 1 / 4 / 3; }
  .sections ul { position: sticky; top: 1rem; display: block; padding: 2.4rem 0 0; border: 0; }
}
@media (max-width: 40rem) {
  .tiles { grid-template-columns: repeat(auto-fill, minmax(6.6rem, 1fr)); }
  .sample:target { grid-template: auto minmax(40vh, auto) auto auto / minmax(0, 1fr); }
  .sample:target .controls { grid-area: 1 / 1 / 2 / 2; justify-content: space-between; }
  .sample:target .frames { grid-area: 3 / 1 / 4 / 2; }
  .sample:target figcaption { grid-area: 4 / 1 / 5 / 2; }
  .bar-cell { width: 25%; min-width: 2.5rem; } .sortable .bar-cell { display: none; }
  .with-axis { padding-left: 3.6rem; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(min(7.6rem, 100%), 1fr)); }
  .message strong { min-width: 0; }
}
@media print {
  body { display: block; max-width: none; padding: 0; font-size: 10pt; }
  .sections, .filter, .skip, .copy, #masks, label[for=masks] { display: none; }
  .scroll { max-height: none; overflow: visible; }
  .sample, .plot, .field, .snippet, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .message, .open, .bar, .track, .band, .chip { print-color-adjust: exact; }
  main > section + section { margin-top: 1rem; }
}
)css";

}  // namespace

std::string_view page_style() { return kStyle; }

std::string_view page_style_hash() { return "sha256-8Yp9is3ks0x7zOTDn+O/TPvUJB/tEhyEd0Xwu+Gqkdk="; }

}  // namespace shale
