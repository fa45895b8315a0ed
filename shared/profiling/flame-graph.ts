import { createHash } from 'node:crypto';

import { SHOWN_UNITS, type Frame, type Profile } from './stacks.js';

const WIDTH = 1200;
const ROW_HEIGHT = 18;
const TOP = 60;
/** Narrower calls are left out: they could not be seen. */
const SHARE_MIN = 0.0005;

/** Zooms by a click and marks what is searched for. */
const SCRIPT = `
const svg = document.documentElement;
const calls = Array.from(svg.querySelectorAll('g.call'));
const field = svg.querySelector('input');
const found = svg.querySelector('#found');
function fit(g, from, share) {
  const left = Number(g.dataset.x), width = Number(g.dataset.w);
  const x = (left - from) / share, w = width / share;
  const isHidden = x + w <= 0 || x >= 1 || w < ${SHARE_MIN};
  g.style.display = isHidden ? 'none' : '';
  if (isHidden) return;
  const begin = Math.max(0, x) * ${WIDTH}, end = Math.min(1, x + w) * ${WIDTH};
  const rect = g.querySelector('rect'), text = g.querySelector('text');
  rect.setAttribute('x', begin);
  rect.setAttribute('width', Math.max(0.3, end - begin - 0.5));
  text.setAttribute('x', begin + 3);
  const room = Math.floor((end - begin - 6) / 6.6);
  const name = g.dataset.name;
  text.textContent = room < 3 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '\\u2026';
}
function zoom(g) {
  const from = g ? Number(g.dataset.x) : 0, share = g ? Number(g.dataset.w) : 1;
  for (const call of calls) fit(call, from, share);
}
function search() {
  const wanted = field.value.toLowerCase();
  let share = 0, end = -1;
  for (const call of calls) {
    const hit = wanted !== '' && call.querySelector('title').textContent.toLowerCase().includes(wanted);
    call.classList.toggle('hit', hit);
    call.dataset.hit = hit ? '1' : '';
  }
  const hits = calls.filter((call) => call.dataset.hit === '1').sort((a, b) => a.dataset.x - b.dataset.x || b.dataset.w - a.dataset.w);
  for (const { dataset } of hits) {
    const from = Math.max(end, Number(dataset.x)), to = Number(dataset.x) + Number(dataset.w);
    if (to > from) { share += to - from; end = to; }
  }
  found.textContent = wanted === '' ? '' : (100 * share).toFixed(1) + ' % in calls that match';
}
svg.addEventListener('click', (event) => {
  const call = event.target.closest('g.call');
  if (call) zoom(call);
});
svg.querySelector('#reset').addEventListener('click', () => zoom());
field.addEventListener('input', search);
zoom();
`;

const STYLE = `
text { font: 12px monospace; fill: #111; }
.title { font: 16px sans-serif; }
.call { cursor: pointer; }
.call rect { stroke: none; }
.call:hover rect { stroke: #000; }
.hit rect { fill: #c2f !important; }
#reset { cursor: pointer; text-decoration: underline; }
input { font: 12px monospace; width: 200px; }
`;

/** Header `Content-Security-Policy` with which a browser runs the script of a flame graph and nothing else. */
export const FLAME_GRAPH_POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;

/** Calls of one function from the same callers. */
interface Call {
  readonly frame: number;
  value: number;
  readonly callees: Map<number, Call>;
}

/**
 * Draws a profile as a flame graph in SVG, which can be searched and zoomed: each call below its caller, as wide as its share.
 *
 * @param title its heading.
 */
export function flameGraph(profile: Profile, title: string): string {
  const root: Call = { frame: -1, value: 0, callees: new Map() };
  for (const { stack, value } of profile.samples) {
    root.value += value;
    let at = root;
    for (const frame of stack) {
      let callee = at.callees.get(frame);
      if (callee === undefined) at.callees.set(frame, (callee = { frame, value: 0, callees: new Map() }));
      callee.value += value;
      at = callee;
    }
  }
  const parts: string[] = [];
  let depthMax = 0;
  const rest = [{ call: root, depth: 0, x: 0 }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { call, depth, x } = next;
    const share = root.value === 0 ? 1 : call.value / root.value;
    if (share < SHARE_MIN) continue;
    depthMax = Math.max(depthMax, depth);
    parts.push(callSvg(call, profile, { depth, x, share }));
    let at = x;
    for (const callee of [...call.callees.values()].sort((a, b) => b.value - a.value)) {
      rest.push({ call: callee, depth: depth + 1, x: at });
      at += root.value === 0 ? 0 : callee.value / root.value;
    }
  }
  const height = TOP + (depthMax + 1) * ROW_HEIGHT + 10;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="100%">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fbfbf6"/>`,
    `<text class="title" x="10" y="24">${escaped(title)}</text>`,
    `<text id="reset" x="10" y="46">show all</text><text id="found" x="${WIDTH - 480}" y="24"></text>`,
    `<foreignObject x="${WIDTH - 230}" y="6" width="220" height="28">`,
    '<input xmlns="http://www.w3.org/1999/xhtml" type="search" placeholder="search" aria-label="search"/></foreignObject>',
    ...parts,
    `<script><![CDATA[${SCRIPT}]]></script></svg>`,
    '',
  ].join('\n');
}

interface Place {
  readonly depth: number;
  /** Left edge and width as shares of the whole. */
  readonly x: number;
  readonly share: number;
}

function callSvg(call: Call, profile: Profile, { depth, x, share }: Place): string {
  const frame: Frame = call.frame === -1 ? { name: 'all', file: '', line: 0 } : profile.frames[call.frame];
  const name = escaped(frame.name);
  const place = frame.file === '' ? '' : ` (${escaped(frame.file)}${frame.line === 0 ? '' : `:${frame.line}`})`;
  const { unit, factor } = SHOWN_UNITS[profile.kind];
  const amount = `${(call.value / factor).toFixed(1)} ${unit}`;
  const y = TOP + depth * ROW_HEIGHT;
  return (
    `<g class="call" data-x="${x.toFixed(6)}" data-w="${share.toFixed(6)}" data-name="${name}">` +
    `<title>${name}${place}: ${amount}, ${(100 * share).toFixed(2)} %</title>` +
    `<rect x="${(x * WIDTH).toFixed(1)}" y="${y}" width="${(share * WIDTH).toFixed(1)}" height="${ROW_HEIGHT - 1}" ` +
    `fill="${colourOf(frame)}"/><text x="${(x * WIDTH + 3).toFixed(1)}" y="${y + 13}"></text></g>`
  );
}

/** Functions of one file have one hue. */
function colourOf({ name, file }: Frame): string {
  let hash = 7;
  for (const letter of file === '' ? name : file) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0;
  return `hsl(${20 + (hash % 40)}, ${65 + (hash % 25)}%, ${62 + ((hash >>> 8) % 16)}%)`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for XML, without characters that XML cannot have. */
function escaped(text: string): string {
  const allowed = text.replace(/[^\t\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
  return allowed.replace(/[&<>"]/g, (letter) => ENTITIES[letter]);
}
