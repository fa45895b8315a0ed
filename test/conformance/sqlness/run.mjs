#!/usr/bin/env node
// Replays .sql/.result pairs of GreptimeDB's sqlness suite against an HTTP SQL endpoint.
import { createHash } from 'node:crypto';
import { writeFileSync, mkdirSync, readFileSync, readdirSync, existsSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));

// ---------------------------------------------------------------- options
const argv = process.argv.slice(2);
const opt = { files: path.join(HERE, 'cases'), db: 'fresh', names: 'plain', jobs: 1, timeout: 30000, show: 0, map: [], filter: null, dir: null, json: null };
for (let i = 0; i < argv.length; i++) {
  const a = argv[i];
  const val = () => argv[++i];
  if (a === '--dry') opt.dry = true;
  else if (a === '--no-sleep') opt.noSleep = true;
  else if (a === '--list-na') opt.listNa = true;
  else if (a === '--db') opt.db = val();
  else if (a === '--names') opt.names = val();
  else if (a === '--jobs') opt.jobs = Number(val());
  else if (a === '--timeout') opt.timeout = Number(val());
  else if (a === '--show') opt.show = Number(val());
  else if (a === '--map') opt.map.push(val().split('='));
  else if (a === '--filter') opt.filter = new RegExp(val());
  else if (a === '--dir') opt.dir = val();
  else if (a === '--files') opt.files = val();
  else if (a === '--json') opt.json = val();
  else { console.error(`unknown option ${a} (see README.md)`); process.exit(2); }
}
let BASE = process.env.BASE || 'http://127.0.0.1:4000';
const SQLNESS_HOME = process.env.SQLNESS_HOME || path.join(os.tmpdir(), 'sqlness-home');

// Cases from a plain folder of .sql/.result pairs.
function loadFolder(root) {
  const names = readdirSync(root, { recursive: true }).map(String).filter((p) => p.endsWith('.sql')).sort();
  const orphans = names.filter((p) => !existsSync(path.join(root, p.replace(/\.sql$/, '.result'))));
  const cases = names.filter((p) => !orphans.includes(p)).map((p) => ({ path: p, name: p.replace(/\.sql$/, ''), sql: readFileSync(path.join(root, p), 'utf8'), result: readFileSync(path.join(root, p.replace(/\.sql$/, '.result')), 'utf8') }));
  return { orphans, cases };
}
// ---------------------------------------------------------------- sqlness file format
const DIRECTIVE = /^--\s*SQLNESS\s+/;
function parseSql(sql) { // -> [{head:[lines], lines:[code lines], directives:[text]}]
  const stmts = [];
  let cur = { head: [], lines: [], directives: [], all: [] };
  for (const raw of sql.split(/\r?\n/)) {
    if (DIRECTIVE.test(raw)) { cur.directives.push(raw.replace(DIRECTIVE, '').trim()); cur.all.push(raw); continue; }
    if (raw.startsWith('--')) { cur.all.push(raw); continue; }
    if (raw.trim() === '') continue;
    cur.lines.push(raw); cur.all.push(raw);
    if (raw.trimEnd().endsWith(';')) { stmts.push(cur); cur = { head: [], lines: [], directives: [], all: [] }; }
  }
  return { stmts, rest: cur.lines };
}
function alignResult(stmts, result) { // fills stmt.expected (text); returns list of problems
  const R = result.split(/\r?\n/).map((l) => l.trimEnd());
  const problems = [];
  const spans = [];
  let p = 0;
  for (let i = 0; i < stmts.length; i++) {
    // header as it is echoed: comment and directive lines, then the statement lines (blank lines dropped)
    const H = stmts[i].all.map((l) => l.trimEnd());
    const matchAt = (q, lines) => {
      let k = q;
      for (const h of lines) { while (k < R.length && R[k] === '' ) k++; if (R[k] !== h) return -1; k++; }
      return k;
    };
    let end = -1, start = -1;
    const code = stmts[i].lines.map((l) => l.trimEnd());
    for (const lines of [H, code]) {
      for (let q = p; q < R.length && end < 0; q++) if (R[q] === lines[0]) { const k = matchAt(q, lines); if (k >= 0) { start = q; end = k; } }
      if (end >= 0) break;
    }
    if (end < 0) { problems.push(`statement ${i + 1} not found in .result: ${code[0].slice(0, 80)}`); stmts[i].expected = null; spans.push(null); continue; }
    spans.push([start, end]); p = end;
  }
  for (let i = 0; i < stmts.length; i++) {
    if (!spans[i]) continue;
    let j = i + 1; while (j < spans.length && !spans[j]) j++;
    const stop = j < spans.length ? spans[j][0] : R.length;
    const body = R.slice(spans[i][1], stop);
    while (body.length && body[0] === '') body.shift();
    while (body.length && (body.at(-1) === '' || body.at(-1).startsWith('--'))) body.pop();
    stmts[i].expected = body.join('\n');
  }
  return problems;
}

// ---------------------------------------------------------------- arrow-style ASCII tables
function cw(cp) { // display width of a code point
  if (cp === 0 || cp === 0x200b || cp === 0x200d || (cp >= 0x300 && cp <= 0x36f) || (cp >= 0xfe00 && cp <= 0xfe0f)) return 0;
  if ((cp >= 0x1100 && cp <= 0x115f) || (cp >= 0x2e80 && cp <= 0xa4cf && cp !== 0x303f) || (cp >= 0xac00 && cp <= 0xd7a3) || (cp >= 0xf900 && cp <= 0xfaff) ||
    (cp >= 0xfe30 && cp <= 0xfe6f) || (cp >= 0xff00 && cp <= 0xff60) || (cp >= 0xffe0 && cp <= 0xffe6) || (cp >= 0x1f300 && cp <= 0x1f64f) || (cp >= 0x1f680 && cp <= 0x1f6ff) || (cp >= 0x1f900 && cp <= 0x1f9ff) || (cp >= 0x20000 && cp <= 0x3fffd)) return 2;
  return 1;
}
const width = (s) => { let w = 0; for (const ch of s) w += cw(ch.codePointAt(0)); return w; };
function splitRow(line, bounds) {
  const cells = []; let col = 0, cur = '', b = 1, ok = line.startsWith('|');
  for (const ch of line) {
    if (b < bounds.length && col >= bounds[b] && ch === '|') { if (col !== bounds[b]) ok = false; cells.push(cur); cur = ''; b++; }
    else if (col > 0) cur += ch;
    col += cw(ch.codePointAt(0));
  }
  if (cells.length !== bounds.length - 1) ok = false;
  if (!ok) { // widths disturbed (REPLACE, wide characters): fall back to counting bars
    const parts = line.replace(/^\|/, '').replace(/\|\s*$/, '').split('|');
    if (parts.length !== bounds.length - 1) return null;
    return parts.map((x) => x.replace(/^ /, '').trimEnd());
  }
  return cells.map((x) => x.replace(/^ /, '').trimEnd());
}
function parseTable(text, sortHead) {
  const lines = text.split('\n').filter((l) => l !== '');
  if (lines.length === 0 || !lines[0].startsWith('+')) return null;
  if (/^\++$/.test(lines[0]) && lines.every((l) => /^\++$/.test(l))) return { names: null, rows: [], empty: true };
  if (!/^\+[-+]*\+$/.test(lines[0])) return null;
  const bounds = []; for (let i = 0; i < lines[0].length; i++) if (lines[0][i] === '+') bounds.push(i);
  const rows = []; let seps = 0; const head = [];
  for (const l of lines) {
    if (/^\+[-+]*\+$/.test(l)) { seps++; continue; }
    if (!l.startsWith('|')) return null;
    const c = splitRow(l, bounds); if (!c) return null;
    if (seps === 1) head.push(c); else rows.push(c);
  }
  if (head.length === 0) return { names: null, rows, unordered: true }; // fully sorted text: header mixed with rows
  const names = head[0].map((_, i) => head.map((h) => h[i]).join('\n').trimEnd());
  return { names, rows };
}
function renderTable(names, rows) {
  if (rows.length === 0 && (!names || names.length === 0)) return '++\n++';
  const phys = (cells) => { const parts = cells.map((c) => c.split('\n')); const h = Math.max(1, ...parts.map((x) => x.length)); return Array.from({ length: h }, (_, i) => parts.map((x) => x[i] ?? '')); };
  const H = phys(names), B = rows.flatMap(phys);
  const w = names.map((_, i) => Math.max(...H.concat(B).map((r) => width(r[i]))));
  const sep = '+' + w.map((x) => '-'.repeat(x + 2)).join('+') + '+';
  const fmt = (r) => '|' + r.map((c, i) => ' ' + c + ' '.repeat(w[i] - width(c)) + ' ').join('|') + '|';
  return [sep, ...H.map(fmt), sep, ...B.map(fmt), sep].join('\n');
}

// ---------------------------------------------------------------- statements
function classify(st) {
  st.sql = st.lines.join('\n');
  st.sort = null; st.replace = []; st.protocol = null; st.restart = false; st.sleep = 0;
  for (const d of st.directives) {
    let m;
    if ((m = /^SORT_RESULT\s*(\d+)?\s*(\d+)?/.exec(d))) st.sort = [Number(m[1] || 0), Number(m[2] || 0)];
    else if ((m = /^REPLACE\s+(.*)$/.exec(d))) { const a = m[1].trimEnd(); const k = a.indexOf(' '); st.replace.push(k < 0 ? [a, ''] : [a.slice(0, k), a.slice(k + 1)]); }
    else if ((m = /^PROTOCOL\s+(\w+)/.exec(d))) st.protocol = m[1].toLowerCase();
    else if ((m = /^SLEEP\s+(\d+)(ms|s|m)/.exec(d))) st.sleep = Number(m[1]) * { ms: 1, s: 1000, m: 60000 }[m[2]];
    else if (/^ARG\s+restart=true/.test(d)) st.restart = true;
    else if (/^(ARG|ENV|TEMPLATE|SINCE|TILL)\b/.test(d)) st.other = d;
    else st.badDirective = d;
  }
  const t = st.expected ?? '';
  let m;
  if ((m = /^affected[ _]rows: (\d+)\s*$/i.exec(t))) { st.kind = 'affected'; st.affected = Number(m[1]); }
  else if ((m = /^Error: (\d+)\((\w+)\),? ?([\s\S]*)$/.exec(t))) { st.kind = 'error'; st.code = Number(m[1]); st.codeName = m[2]; st.message = m[3]; }
  else if (/^(Failed to (execute|parse) query|ERROR)/.test(t)) { st.kind = 'error'; st.code = null; }
  else if (t === '(Empty response)' || t === '') st.kind = 'empty';
  else {
    st.table = parseTable(t, st.sort);
    st.kind = st.table ? 'table' : 'text';
  }
  st.na = naReason(st);
}
const INTERNAL = /\b(region_peers|region_statistics|region_info|ssts_manifest|ssts_storage|ssts_index_meta|cluster_info|build_info|procedure_info|greptime_partition_id|semantic_graph)\b/i;
function naReason(st) {
  const s = st.sql.replace(/--.*$/gm, '').trim();
  if (st.expected === null) return 'unaligned';
  if (st.protocol) return 'protocol ' + st.protocol;
  if (/^(EXPLAIN\b|TQL\s+(EXPLAIN|ANALYZE)\b)/i.test(s)) return 'plan text';
  if (/^(DESC|DESCRIBE)\b/i.test(s) === false && INTERNAL.test(s)) return 'engine internals';
  if (/^SHOW\s+REGIONS?\b/i.test(s)) return 'engine internals';
  if (/^ADMIN\s+(migrate_region|flush_region|compact_region|gc_table|gc_regions|reconcile_\w+|discard_unflushed|purge_table)\b/i.test(s)) return 'region admin';
  if (/\bbuild\s*\(\s*\)|\bversion\s*\(\s*\)|\bdecode_primary_key\b|__tsid\b|__primary_key\b/i.test(s) && st.kind !== 'error') return 'build or key internals';
  if (st.kind === 'text' && /Plan|Exec\b|REDACTED/.test(st.expected)) return 'plan text';
  return null;
}

// ---------------------------------------------------------------- JSON with exact integers
function parseJson(text) {
  let i = 0;
  const ws = () => { while (i < text.length && ' \t\r\n'.includes(text[i])) i++; };
  const value = () => {
    ws(); const ch = text[i];
    if (ch === '{') { i++; const o = {}; ws(); if (text[i] === '}') { i++; return o; } for (;;) { ws(); const k = str(); ws(); if (text[i++] !== ':') throw new Error('json'); o[k] = value(); ws(); const d = text[i++]; if (d === '}') return o; if (d !== ',') throw new Error('json'); } }
    if (ch === '[') { i++; const a = []; ws(); if (text[i] === ']') { i++; return a; } for (;;) { a.push(value()); ws(); const d = text[i++]; if (d === ']') return a; if (d !== ',') throw new Error('json'); } }
    if (ch === '"') return str();
    const m = /^(true|false|null|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|NaN|-?Infinity)/.exec(text.slice(i, i + 400)); if (!m) throw new Error('json at ' + i);
    i += m[0].length;
    if (m[0] === 'true') return true; if (m[0] === 'false') return false; if (m[0] === 'null') return null;
    if (/^-?\d+$/.test(m[0]) && !Number.isSafeInteger(Number(m[0]))) return BigInt(m[0]);
    return Number(m[0]);
  };
  const str = () => { const st = i; i++; while (text[i] !== '"') { if (text[i] === '\\') i++; i++; if (i > text.length) throw new Error('json string'); } i++; return JSON.parse(text.slice(st, i)); };
  const v = value(); ws(); if (i !== text.length) throw new Error('json tail'); return v;
}

// ---------------------------------------------------------------- value normalisation
const UNIT = { Second: 1000000000n, Millisecond: 1000000n, Microsecond: 1000n, Nanosecond: 1n };
const isoNs = (ns) => {
  const DAY = 86400000000000n; let d = ns / DAY, r = ns % DAY; if (r < 0n) { r += DAY; d -= 1n; }
  const [y, mo, da] = civil(Number(d)); const p = (n, w = 2) => String(n).padStart(w, '0');
  const sec = r / 1000000000n, f = r % 1000000000n; let frac = '';
  if (f) { const s = p(f, 9); frac = '.' + (s.endsWith('000000') ? s.slice(0, 3) : s.endsWith('000') ? s.slice(0, 6) : s); }
  return `${y < 0 ? '-' + p(-y, 4) : y > 9999 ? '+' + y : p(y, 4)}-${p(mo)}-${p(da)}T${p(sec / 3600n)}:${p((sec / 60n) % 60n)}:${p(sec % 60n)}${frac}`;
};
function civil(z) { z += 719468; const era = Math.floor(z / 146097), doe = z - era * 146097, yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36524) - Math.floor(doe / 146096)) / 365); const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100)), mp = Math.floor((5 * doy + 2) / 153); const m = mp < 10 ? mp + 3 : mp - 9; return [yoe + era * 400 + (m <= 2 ? 1 : 0), m, doy - Math.floor((153 * mp + 2) / 5) + 1]; }
function daysFrom(y, m, d) { y -= m <= 2 ? 1 : 0; const era = Math.floor(y / 400), yoe = y - era * 400, doy = Math.floor((153 * (m + (m > 2 ? -3 : 9)) + 2) / 5) + d - 1; return era * 146097 + yoe * 365 + Math.floor(yoe / 4) - Math.floor(yoe / 100) + doy - 719468; }
function tsNs(s) { // ISO-like timestamp text -> ns, or null
  const m = /^([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d:?\d\d)?$/.exec(s); if (!m) return null;
  let ns = BigInt(daysFrom(Number(m[1]), Number(m[2]), Number(m[3]))) * 86400000000000n + (BigInt(m[4] || 0) * 3600n + BigInt(m[5] || 0) * 60n + BigInt(m[6] || 0)) * 1000000000n + BigInt((m[7] || '').padEnd(9, '0') || 0);
  if (m[8] && m[8] !== 'Z') { const k = /([+-])(\d\d):?(\d\d)/.exec(m[8]); ns -= BigInt(k[1] + '1') * (BigInt(k[2]) * 3600n + BigInt(k[3]) * 60n) * 1000000000n; }
  return ns;
}
function interval(s) { // several spellings -> "months/days/ns" or null
  let m = /^P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?$/.exec(s);
  const nsOf = (h, mi, se) => BigInt(h || 0) * 3600000000000n + BigInt(mi || 0) * 60000000000n + BigInt(Math.round(Number(se || 0) * 1e9));
  if (m && s !== 'P') return `${Number(m[1] || 0) * 12 + Number(m[2] || 0)}/${Number(m[3] || 0)}/${nsOf(m[4], m[5], m[6])}`;
  if (!/^(-?[\d.]+ \w+\s*|-?\d\d:\d\d:[\d.]+)+$/.test(s) || !/(mon|day|hour|min|sec|year|week|:)/.test(s)) return null;
  let mon = 0, day = 0, ns = 0n;
  for (const t of s.matchAll(/(-?)(\d+):(\d\d):([\d.]+)|(-?[\d.]+) (\w+)/g)) {
    if (t[2]) { const v = nsOf(t[2], t[3], t[4]); ns += t[1] ? -v : v; continue; }
    const n = Number(t[5]), u = t[6];
    if (/^year/.test(u)) mon += n * 12; else if (/^mon/.test(u)) mon += n; else if (/^week/.test(u)) day += n * 7; else if (/^day/.test(u)) day += n;
    else if (/^hour/.test(u)) ns += nsOf(n, 0, 0); else if (/^min/.test(u)) ns += nsOf(0, n, 0); else if (/^sec/.test(u)) ns += nsOf(0, 0, n); else return null;
  }
  return `${mon}/${day}/${ns}`;
}
function cellText(v, type) {
  if (v === null || v === undefined) return '';
  const t = String(type || '');
  let m;
  if ((m = /^Timestamp(Second|Millisecond|Microsecond|Nanosecond)/.exec(t)) && (typeof v === 'number' || typeof v === 'bigint')) return isoNs(BigInt(v) * UNIT[m[1]]);
  if (/^Date(32)?$/.test(t) && typeof v === 'number') { const [y, mo, d] = civil(v); return `${String(y).padStart(4, '0')}-${String(mo).padStart(2, '0')}-${String(d).padStart(2, '0')}`; }
  if (/^Time(Second|Millisecond|Microsecond|Nanosecond)/.test(t) && (typeof v === 'number' || typeof v === 'bigint')) return isoNs(BigInt(v) * UNIT[/^Time(\w+)$/.exec(t)[1]]).slice(11);
  if ((m = /^Duration(\w+)/.exec(t)) && (typeof v === 'number' || typeof v === 'bigint') && UNIT[m[1]]) return `PT${Number(BigInt(v) * UNIT[m[1]]) / 1e9}S`;
  if (/^Binary|^LargeBinary|^Vector/.test(t) && Array.isArray(v)) return Buffer.from(v.map(Number)).toString('hex');
  if (/^Interval/.test(t) && (typeof v === 'bigint' || typeof v === 'number')) { const x = BigInt.asUintN(128, BigInt(v)); return ivText(Number(BigInt.asIntN(32, x >> 96n)), Number(BigInt.asIntN(32, (x >> 64n) & 0xffffffffn)), BigInt.asIntN(64, x)); }
  if (/^Interval/.test(t) && v && typeof v === 'object' && 'months' in v) return ivText(Number(v.months), Number(v.days), BigInt(v.nanoseconds ?? BigInt(v.micros ?? 0) * 1000n));
  if (Array.isArray(v)) return '[' + v.map((x) => cellText(x, (/^List(?:\((.*)\)|<(.*)>)$/.exec(t) || [])[1])).join(', ') + ']';
  if (typeof v === 'object') return JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? Number(x) : x));
  return String(v);
}
function ivText(mo, d, ns) { const p = []; if (mo) p.push(`${mo} mons`); if (d) p.push(`${d} days`); const h = ns / 3600000000000n, mi = (ns / 60000000000n) % 60n, se = Number(ns % 60000000000n) / 1e9; if (h) p.push(`${h} hours`); if (mi) p.push(`${mi} mins`); if (se) p.push(`${se} secs`); return p.join(' ') || '0 secs'; }
const NUM = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const special = (s) => ({ nan: 'nan', inf: 'inf', infinity: 'inf', '-inf': '-inf', '-infinity': '-inf', '+inf': 'inf' })[s.toLowerCase()];
const canonCache = new Map();
function canon(s) { // comparison key: numbers to 9 significant digits, timestamps to ns
  let r = canonCache.get(s); if (r !== undefined) return r;
  r = canon0(s); if (canonCache.size < 200000) canonCache.set(s, r); return r;
}
function canon0(s) {
  const t = s.trim();
  if (t === '') return '';
  if (NUM.test(t)) { if (/^[+-]?\d{16,}$/.test(t)) return 'n' + BigInt(t); const n = Number(t); return 'n' + (n === 0 ? 0 : Number(n.toPrecision(9))); }
  const sp = special(t); if (sp) return 'f' + sp;
  const ts = tsNs(t); if (ts !== null) return 't' + ts;
  const iv = interval(t); if (iv) return 'i' + iv;
  if (/^[[{]/.test(t)) return 'j' + t.replace(/["'\s]/g, '').replace(/\d+\.\d+(e[-+]?\d+)?/gi, (x) => String(Number(Number(x).toPrecision(9)))).replace(/(?<![\w.])(\d+)\.0+(?!\d)/g, '$1');
  return 's' + t;
}
function cellEq(e, a) {
  if (e === a) return true;
  const x = e.trim(), y = a.trim();
  if (x === y) return true;
  if (NUM.test(x) && NUM.test(y)) {
    if (/^[+-]?\d+$/.test(x) && /^[+-]?\d+$/.test(y)) return BigInt(x) === BigInt(y);
    const p = Number(x), q = Number(y); return p === q || Math.abs(p - q) <= 1e-9 * Math.max(Math.abs(p), Math.abs(q)) || Math.abs(p - q) < 1e-15;
  }
  if (special(x)) return special(x) === special(y) || y === ''; // JSON has no NaN or infinity: null is accepted
  return canon(x) === canon(y);
}
function rowsEq(E, A, ordered) {
  if (E.length !== A.length) return `rows expected ${E.length}, got ${A.length}`;
  const eq = (r, q) => r.length === q.length && r.every((c, i) => cellEq(c, q[i]));
  const inOrder = () => { for (let i = 0; i < E.length; i++) if (!eq(E[i], A[i])) return i; return -1; };
  const bad = inOrder();
  if (bad < 0) return null;
  if (!ordered) {
    const key = (r) => r.map(canon).join('\u0001');
    const s1 = [...E].sort((a, b) => (key(a) < key(b) ? -1 : 1)), s2 = [...A].sort((a, b) => (key(a) < key(b) ? -1 : 1));
    if (s1.every((r, i) => eq(r, s2[i]))) return null;
    if (E.length <= 1500) { // near-equal floats may sort differently: greedy matching
      const used = new Array(A.length).fill(false);
      if (E.every((r) => { const k = A.findIndex((q, i) => !used[i] && eq(r, q)); if (k < 0) return false; used[k] = true; return true; })) return null;
    }
  }
  return `row ${bad + 1}: expected [${E[bad].join(' | ')}] got [${(A[bad] || []).join(' | ')}]`.slice(0, 400);
}
const physical = (rows) => rows.flatMap((cells) => { const parts = cells.map((c) => c.split('\n')); const h = Math.max(1, ...parts.map((x) => x.length)); return Array.from({ length: h }, (_, i) => parts.map((x) => x[i] ?? '')); });
const trimBlank = (rows) => { const r = [...rows]; while (r.length && r.at(-1).every((c) => c === '')) r.pop(); return r; };

// ---------------------------------------------------------------- running
function jsRegex(p) { return new RegExp(p.replace(/^\(\?[a-z]+\)/, ''), 'g' + (/^\(\?i\)/.test(p) ? 'i' : '')); }
function topLevelOrderBy(sql) {
  let d = 0, out = ''; const s = sql.replace(/--.*$/gm, '').replace(/'(?:[^']|'')*'/g, "''");
  for (const ch of s) { if (ch === '(') d++; else if (ch === ')') d--; else if (d === 0) out += ch; }
  return /\border\s+by\b/i.test(out);
}
const wordMap = (s, from, to) => s.replace(new RegExp(`(?<![A-Za-z0-9_])${from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![A-Za-z0-9_])`, 'g'), to);
class Session {
  constructor(db) { this.db = db; this.home = db; this.tz = null; this.created = new Set(); this.flows = new Set(); }
  mapText(s) {
    for (const [a, b] of opt.map) s = wordMap(s, a, b);
    if (opt.db === 'fresh') s = wordMap(s, 'public', this.home).replace(/\bTables_in_public\b/g, 'Tables_in_' + this.home);
    return s;
  }
  mapSql(sql) {
    let s = sql.replaceAll('${SQLNESS_HOME}', SQLNESS_HOME).replace(/\$\{(\w+)\}/g, (m, k) => process.env[k] ?? m);
    s = this.mapText(s);
    if (opt.db === 'fresh' && !this.ownNumbers) s = s.replace(/\b(from|join)\s+(?:\w+\.)?numbers\b(?!\s*\()/gi, (m, k) => (new RegExp(`${this.home}\\.numbers|\\s+numbers`, 'i').test(m) ? `${k} public.numbers` : m));
    return s;
  }
  async send(sql) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    if (this.tz) headers['x-greptime-timezone'] = this.tz;
    if (process.env.AUTH) headers.authorization = 'Basic ' + Buffer.from(process.env.AUTH).toString('base64');
    const ctl = new AbortController(); const timer = setTimeout(() => ctl.abort(), opt.timeout);
    try {
      const r = await fetch(`${BASE}/v1/sql?db=${encodeURIComponent(this.db)}&format=greptimedb_v1`, { method: 'POST', headers, body: 'sql=' + encodeURIComponent(sql), signal: ctl.signal });
      const text = await r.text();
      let j; try { j = parseJson(text); } catch { return { error: `HTTP ${r.status}: ${text.slice(0, 200)}`, code: null }; }
      if (j && j.error !== undefined && j.error !== null) return { error: String(j.error), code: typeof j.code === 'number' ? j.code : null };
      if (!r.ok) return { error: `HTTP ${r.status}`, code: j?.code ?? null };
      const out = Array.isArray(j.output) ? j.output.at(-1) : null;
      if (!out) return { affected: 0 };
      if (out.records) { const cols = out.records.schema?.column_schemas ?? []; return { names: cols.map((c) => c.name), types: cols.map((c) => c.data_type), rows: out.records.rows ?? [] }; }
      return { affected: Number(out.affectedrows ?? 0) };
    } catch (e) { return { transport: e.name === 'AbortError' ? `timeout after ${opt.timeout} ms` : String(e.cause?.code || e.message) }; } finally { clearTimeout(timer); }
  }
}
function compare(st, got, ses) {
  if (got.transport) return { ok: false, why: got.transport };
  if (st.kind === 'error') return got.error !== undefined ? { ok: true, codeOk: st.code === null ? null : got.code === st.code, gotCode: got.code } : { ok: false, why: 'an error was expected' };
  if (got.error !== undefined) return { ok: false, why: `server error ${got.code ?? ''}: ${got.error}`.slice(0, 300) };
  if (st.kind === 'affected') return got.affected === st.affected ? { ok: true } : { ok: false, why: `affected rows expected ${st.affected}, got ${got.affected ?? 'rows'}` };
  if (st.kind === 'empty') return { ok: true };
  if (got.rows === undefined) return { ok: false, why: 'rows expected, got affected rows' };
  let rows = got.rows.map((r) => r.map((v, i) => cellText(v, got.types[i])));
  if (opt.db === 'fresh' && /\bshow\s+(full\s+)?(databases|schemas)\b|\bschemata\b/i.test(st.sql)) rows = rows.filter((r) => !r.some((c) => c === 'public' || (/^sq_[0-9a-f]{8}$/.test(c) && c !== ses.home)));
  const rx = st.replace.map(([p, r]) => { try { return [jsRegex(p), r.replace(/\$\{(\d+)\}/g, '$$$1')]; } catch { return null; } }).filter(Boolean);
  const sub = (s) => rx.reduce((acc, [re, r]) => acc.replace(re, r), s);
  if (rx.length) { // compare the rendered text after the same replacements
    let text = sub(renderTable(got.names, rows));
    if (st.sort) { const l = text.split('\n'); const [h, t] = st.sort; text = [...l.slice(0, h), ...l.slice(h, l.length - t).sort(), ...l.slice(l.length - t)].join('\n'); }
    const squeeze = (s) => s.split('\n').map((x) => x.replace(/-+/g, '-').replace(/\s+/g, ' ').trim()).filter(Boolean);
    const e = squeeze(ses.mapText(st.expected)), a = squeeze(text);
    if (e.join('\n') === a.join('\n')) return { ok: true, namesOk: true };
    if (!topLevelOrderBy(st.sql) && [...e].sort().join('\n') === [...a].sort().join('\n')) return { ok: true, namesOk: true };
    const body = (x) => x.filter((l) => l.startsWith('|')).slice(1).sort().join('\n');
    if (opt.names !== 'strict' && body(e) === body(a) && body(e) !== '') return { ok: true, namesOk: false };
    if (!st.table) return { ok: false, why: `text differs after REPLACE: expected ${e.slice(3, 4)} got ${a.slice(3, 4)}`.slice(0, 300) };
  } else if (st.kind === 'text') return { ok: false, why: 'expected text is not a table' };
  const T = st.table;
  const exp = T.rows.map((r) => r.map((c) => ses.mapText(c)));
  if (T.empty) return rows.length === 0 ? { ok: true } : { ok: false, why: `no rows expected, got ${rows.length}` };
  let act = physical(rx.length ? rows.map((r) => r.map(sub)) : rows);
  const unordered = !!st.sort || !topLevelOrderBy(st.sql);
  if (T.names === null) { // header sorted into the rows
    const head = got.names.map((n) => n);
    const why = rowsEq(trimBlank(exp), trimBlank([head, ...act]), false);
    if (!why) return { ok: true };
    const names = new Set(got.names.map((n) => n.toLowerCase()));
    const noHead = exp.filter((r) => !r.every((c) => names.has(c.toLowerCase()) || /[(]/.test(c)));
    return rowsEq(noHead, act, false) === null ? { ok: true, namesOk: false } : { ok: false, why };
  }
  const expNames = T.names.map((n) => ses.mapText(n));
  const low = (x) => x.trim().toLowerCase();
  const namesOk = expNames.length === got.names.length && expNames.every((n, i) => low(n) === low(got.names[i]));
  const plain = (n) => /^[A-Za-z_][\w $.]*$/.test(n);
  if (expNames.length !== got.names.length) return { ok: false, why: `columns expected ${expNames.length} (${expNames.join(', ').slice(0, 120)}), got ${got.names.length}` };
  if (/^\s*tql\b/i.test(st.sql) && !namesOk) { // column order of TQL output is an engine detail: match by name
    const idx = expNames.map((n) => got.names.findIndex((g) => low(g) === low(n)));
    if (idx.every((k) => k >= 0) && new Set(idx).size === idx.length) { act = act.map((r) => idx.map((k) => r[k])); const why = rowsEq(trimBlank(exp), trimBlank(act), !unordered); return why ? { ok: false, why, namesOk: true } : { ok: true, namesOk: true, reordered: true }; }
  }
  if (opt.names !== 'off') {
    const bad = expNames.findIndex((n, i) => low(n) !== low(got.names[i]) && (opt.names === 'strict' || plain(n)));
    if (bad >= 0) return { ok: false, why: `column ${bad + 1} expected name ${expNames[bad]}, got ${got.names[bad]}`, namesOk };
  }
  const why = rowsEq(trimBlank(exp), trimBlank(act), !unordered);
  return why ? { ok: false, why, namesOk } : { ok: true, namesOk };
}
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function runCase(k) {
  const db = opt.db === 'fresh' ? 'sq_' + createHash('sha1').update(k.name).digest('hex').slice(0, 8) : 'public';
  const ses = new Session(db); ses.ownNumbers = /create\s+table\s+(if\s+not\s+exists\s+)?numbers\b/i.test(k.sql);
  const res = { name: k.name, dir: k.dir, statements: [] };
  if (opt.db === 'fresh') { ses.db = 'public'; await ses.send(`DROP DATABASE IF EXISTS ${db}`); const c = await ses.send(`CREATE DATABASE IF NOT EXISTS ${db}`); if (c.transport) { res.transport = c.transport; } ses.db = db; }
  for (const [i, st] of k.stmts.entries()) {
    const rec = { i: i + 1, kind: st.kind, na: st.na ?? undefined };
    const s = st.sql.replace(/--.*$/gm, '').trim(); let m;
    if (st.sleep && !opt.noSleep) await sleep(st.sleep);
    const sideEffect = /^(create|insert|replace|delete|drop|alter|truncate|copy|comment)\b/i.test(s);
    if (st.na && !(st.na.startsWith('protocol') && sideEffect)) { res.statements.push(rec); continue; }
    let got;
    if (st.na) { await ses.send(ses.mapSql(st.sql)); res.statements.push(rec); continue; }
    if ((m = /^use\s+[`"']?([^`"';\s]+)[`"']?\s*;?$/i.exec(s))) { ses.db = ses.mapText(m[1]).toLowerCase(); got = { affected: 0 }; }
    else if ((m = /^set\s+(?:session\s+|local\s+)?(?:time_zone|timezone)\s*(?:=|to)\s*'([^']*)'\s*;?$/i.exec(s))) { ses.tz = m[1]; got = { affected: 0 }; }
    else {
      got = await ses.send(ses.mapSql(st.sql));
      if ((m = /^create\s+(?:database|schema)\s+(?:if\s+not\s+exists\s+)?[`"']?([\w-]+)/i.exec(s)) && got.error === undefined) ses.created.add(m[1]);
      if ((m = /^create\s+(?:or\s+replace\s+)?flow\s+(?:if\s+not\s+exists\s+)?[`"']?(\w+)/i.exec(s)) && got.error === undefined) ses.flows.add(m[1]);
    }
    const v = compare(st, got, ses);
    Object.assign(rec, { ok: v.ok, why: v.why, codeOk: v.codeOk, namesOk: v.namesOk, expCode: st.kind === 'error' ? st.code : undefined, gotCode: v.gotCode ?? got.code ?? undefined, sql: v.ok ? undefined : st.sql.slice(0, 300) });
    res.statements.push(rec);
    if (got.transport && /ECONNREFUSED/.test(got.transport)) { console.error(`cannot reach ${BASE}: ${got.transport}`); process.exit(3); }
  }
  ses.db = 'public';
  for (const f of ses.flows) await ses.send(`DROP FLOW IF EXISTS ${f}`);
  for (const d of ses.created) await ses.send(`DROP DATABASE IF EXISTS \`${ses.mapText(d)}\``);
  if (opt.db === 'fresh') await ses.send(`DROP DATABASE IF EXISTS ${db}`);
  const counted = res.statements.filter((x) => !x.na);
  res.total = counted.length; res.matched = counted.filter((x) => x.ok).length; res.na = res.statements.length - counted.length;
  res.pass = res.total > 0 && res.matched === res.total;
  return res;
}

// ---------------------------------------------------------------- reporting
const pad = (s, n) => String(s).padEnd(n), lpad = (s, n) => String(s).padStart(n);
function report(results, extra = {}) {
  const dirs = new Map();
  const add = (d, r) => { const x = dirs.get(d) ?? { cases: 0, pass: 0, naCases: 0, matched: 0, total: 0, na: 0 }; if (r.total === 0) x.naCases++; else { x.cases++; if (r.pass) x.pass++; } x.matched += r.matched; x.total += r.total; x.na += r.na; dirs.set(d, x); };
  for (const r of results) { add(r.dir, r); add('TOTAL', r); }
  console.log(`${pad('directory', 46)}${lpad('cases ok/all', 14)}${lpad('stmts ok/all', 14)}${lpad('%', 7)}${lpad('n/a', 7)}`);
  for (const d of [...[...dirs.keys()].filter((x) => x !== 'TOTAL').sort(), 'TOTAL']) { const x = dirs.get(d); if (x) console.log(`${pad(d, 46)}${lpad(`${x.pass}/${x.cases}`, 14)}${lpad(`${x.matched}/${x.total}`, 14)}${lpad(x.total ? (100 * x.matched / x.total).toFixed(1) : '-', 7)}${lpad(x.na, 7)}`); }
  const all = results.flatMap((r) => r.statements);
  const errs = all.filter((x) => !x.na && x.kind === 'error' && x.ok && x.codeOk !== null);
  const tabs = all.filter((x) => !x.na && x.kind === 'table' && x.ok && x.namesOk !== undefined);
  const summary = { errorsMatched: errs.length, errorCodesEqual: errs.filter((x) => x.codeOk).length, tablesMatched: tabs.length, columnNamesEqual: tabs.filter((x) => x.namesOk).length };
  console.log(`errors matched ${summary.errorsMatched}, of them with the same numeric code ${summary.errorCodesEqual}; tables matched ${summary.tablesMatched}, of them with every column name equal ${summary.columnNamesEqual}`);
  if (opt.show) for (const r of results) for (const s of r.statements) if (!s.na && !s.ok && opt.show-- > 0) console.log(`\n# ${r.name} #${s.i}: ${s.why}\n${s.sql}`);
  if (opt.json) writeFileSync(opt.json, JSON.stringify({ base: BASE, db: opt.db, names: opt.names, dirs: Object.fromEntries(dirs), summary, cases: results, ...extra }, null, 1));
}
function naSummary(cases) { const m = new Map(); for (const k of cases) for (const s of k.stmts) if (s.na) m.set(s.na, (m.get(s.na) ?? 0) + 1); return Object.fromEntries([...m].sort((a, b) => b[1] - a[1])); }

// ---------------------------------------------------------------- main
const { cases: allCases, orphans } = loadFolder(opt.files);
const problems = [];
for (const k of allCases) {
  k.dir = path.posix.dirname(k.name);
  const { stmts, rest } = parseSql(k.sql);
  if (rest.length) problems.push(`${k.path}: unterminated statement: ${rest.at(-1).slice(0, 80)}`);
  for (const p of alignResult(stmts, k.result)) problems.push(`${k.path}: ${p}`);
  for (const s of stmts) { classify(s); if (s.badDirective) problems.push(`${k.path}: unknown directive ${s.badDirective}`); if (s.kind === 'text' && !s.na && !s.replace.length) problems.push(`${k.path}: expected block not understood: ${s.expected.split('\n')[0].slice(0, 80)}`); }
  k.stmts = stmts;
}
let cases = allCases.filter((k) => (!opt.filter || opt.filter.test(k.name)) && (!opt.dir || k.name.startsWith(opt.dir)));
if (opt.dry) {
  const by = new Map();
  for (const k of cases) for (const d of [k.dir, 'TOTAL']) { const x = by.get(d) ?? { cases: 0, stmts: 0, na: 0, table: 0, affected: 0, error: 0, text: 0, empty: 0 }; x.cases++; for (const s of k.stmts) { x.stmts++; if (s.na) x.na++; x[s.kind]++; } by.set(d, x); }
  console.log(`${pad('directory', 46)}${['cases', 'stmts', 'table', 'affected', 'error', 'text', 'n/a'].map((h) => lpad(h, 9)).join('')}`);
  for (const d of [...[...by.keys()].filter((x) => x !== 'TOTAL').sort(), 'TOTAL']) { const x = by.get(d); if (x) console.log(pad(d, 46) + [x.cases, x.stmts, x.table, x.affected, x.error, x.text + x.empty, x.na].map((v) => lpad(v, 9)).join('')); }
  console.log('n/a by reason:', naSummary(cases));
  console.log(`case files without .result: ${orphans.length}; parse problems: ${problems.length}`);
  for (const p of problems.slice(0, 60)) console.log('  ' + p);
  if (opt.listNa) for (const k of cases) for (const [i, s] of k.stmts.entries()) if (s.na) console.log(`n/a ${k.name} #${i + 1} ${s.na}: ${s.sql.replace(/\s+/g, ' ').slice(0, 100)}`);
  if (opt.json) writeFileSync(opt.json, JSON.stringify({ dry: true, dirs: Object.fromEntries(by), problems, na: naSummary(cases) }, null, 1));
  process.exit(problems.length ? 1 : 0);
}
mkdirSync(SQLNESS_HOME, { recursive: true });
const results = []; let next = 0;
await Promise.all(Array.from({ length: Math.max(1, opt.jobs) }, async () => { while (next < cases.length) { const k = cases[next++]; results.push(await runCase(k)); } }));
results.sort((a, b) => (a.name < b.name ? -1 : 1));
report(results, { na: naSummary(cases) });
