import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';

import { parameter, setParameters } from '../../core/route.js';
import { bytesText, countText, secondsText } from '../../format/numbers.js';
import {
  foundValue,
  frameChanges,
  frameSums,
  isFound,
  type FlameData,
  type FrameChange,
  type FrameSum,
} from '../../widgets/flame/flame-data.js';
import { FlameGraph } from '../../widgets/flame/flame-graph.js';
import { Grid, type GridCell, type GridSort } from '../../widgets/grid.js';
import { Icon } from '../../widgets/icons.js';
import { saveFile } from '../../widgets/save-file.js';
import type { KeptProfile } from './kept-profiles.js';
import { encodePprof } from './pprof.js';

/** What is shown. */
export interface ProfileViewProps {
  readonly profile: KeptProfile;
  /** An earlier one of the same kind, that it is compared with. */
  readonly base: KeptProfile | undefined;
}

/** A profile: its flame graph, and what each function took. */
export function ProfileView({ profile, base }: ProfileViewProps) {
  const { data, kind } = profile;
  const search = parameter('s');
  const isInverted = parameter('invert') === 'true';
  const format = formatOf(data.unit);
  const share = useMemo(() => (search.trim() === '' ? undefined : foundValue(data, search)), [data, search]);
  return (
    <div class="stack profile">
      <div class="row">
        <input
          type="search"
          aria-label="Search functions"
          placeholder="Search functions and files"
          value={search}
          onInput={({ currentTarget: { value } }) =>
            setParameters({ s: value === '' ? undefined : value }, { replaces: true })
          }
        />
        <span role="status" class="dim">
          {share === undefined
            ? `${format(data.total)} in all`
            : `${format(share)} found, ${percent(share, data.total)}`}
        </span>
        <label class="check">
          <input
            type="checkbox"
            checked={isInverted}
            onChange={({ currentTarget: { checked } }) => setParameters({ invert: checked ? 'true' : undefined })}
          />
          Callers below
        </label>
        <span class="grow" />
        <button type="button" onClick={() => void download(profile)}>
          <Icon name="download" /> Download pprof
        </button>
      </div>
      <FlameGraph
        data={data}
        base={base?.data}
        title={kind === 'cpu' ? 'CPU time' : 'Memory'}
        search={search}
        isInverted={isInverted}
        format={format}
      />
      {base === undefined ? (
        <FunctionTable data={data} search={search} format={format} />
      ) : (
        <ChangeTable base={base.data} data={data} search={search} />
      )}
    </div>
  );
}

type SumColumn = 'self' | 'total';

const COLUMNS = [
  { name: 'Function', isNumber: false },
  { name: 'Self', isNumber: true },
  { name: 'Self %', isNumber: true },
  { name: 'Total', isNumber: true },
  { name: 'Total %', isNumber: true },
  { name: 'File', isNumber: false },
];
/** What each column is sorted by; undefined: its text. */
const SORTED_BY: readonly (SumColumn | undefined)[] = [undefined, 'self', 'self', 'total', 'total', undefined];

interface FunctionTableProps {
  readonly data: FlameData;
  readonly search: string;
  readonly format: (value: number) => string;
}

function FunctionTable({ data, search, format }: FunctionTableProps) {
  const sort = useSignal<GridSort>({ column: 1, isDescending: true });
  const sums = useMemo(() => frameSums(data), [data]);
  const shown = useMemo(() => {
    const found = search.trim() === '' ? sums : sums.filter(({ frame }) => isFound(data.frames[frame], search));
    return sorted(found, sort.value, data);
  }, [sums, search, sort.value]);
  const cell = (column: number, row: number): GridCell => {
    const { frame, self, total } = shown[row];
    const { name, file, line } = data.frames[frame];
    const texts = [
      name,
      format(self),
      percent(self, data.total),
      format(total),
      percent(total, data.total),
      line === 0 ? file : `${file}:${line}`,
    ];
    return { text: texts[column] };
  };
  if (shown.length === 0) return <p class="empty">No function or file has these words in its name.</p>;
  return (
    <Grid
      label="Functions"
      columns={COLUMNS}
      rowCount={shown.length}
      cell={cell}
      sort={sort.value}
      onSort={(column) => {
        const isAgain = sort.value.column === column;
        sort.value = { column, isDescending: isAgain ? !sort.value.isDescending : SORTED_BY[column] !== undefined };
      }}
      onOpen={(_column, row) => setParameters({ s: data.frames[shown[row].frame].name })}
    />
  );
}

const CHANGE_COLUMNS = [
  { name: 'Function', isNumber: false },
  { name: 'Change', isNumber: true },
  { name: 'Self before', isNumber: true },
  { name: 'Self now', isNumber: true },
  { name: 'File', isNumber: false },
];

interface ChangeTableProps {
  readonly base: FlameData;
  readonly data: FlameData;
  readonly search: string;
}

/** What part of two profiles each function took, the greatest changes first. */
function ChangeTable({ base, data, search }: ChangeTableProps) {
  const changes = useMemo(() => {
    const size = ({ before, after }: FrameChange): number => Math.abs(after - before);
    return frameChanges(base, data).sort((a, b) => size(b) - size(a));
  }, [base, data]);
  const shown = useMemo(
    () => (search.trim() === '' ? changes : changes.filter((change) => isFound(change, search))),
    [changes, search],
  );
  const cell = (column: number, row: number): GridCell => {
    const { name, file, before, after } = shown[row];
    const sign = after > before ? '+' : '';
    return { text: [name, sign + percent(after - before, 1), percent(before, 1), percent(after, 1), file][column] };
  };
  if (shown.length === 0) return <p class="empty">No function or file has these words in its name.</p>;
  return (
    <Grid
      label="Changes"
      columns={CHANGE_COLUMNS}
      rowCount={shown.length}
      cell={cell}
      onOpen={(_column, row) => setParameters({ s: shown[row].name })}
    />
  );
}

function sorted(sums: readonly FrameSum[], { column, isDescending }: GridSort, { frames }: FlameData): FrameSum[] {
  const by = SORTED_BY[column];
  const sign = isDescending ? -1 : 1;
  if (by !== undefined) return [...sums].sort((a, b) => sign * (a[by] - b[by]));
  const text = ({ frame }: FrameSum): string => (column === 0 ? frames[frame].name : frames[frame].file);
  return [...sums].sort((a, b) => sign * (text(a) < text(b) ? -1 : 1));
}

function percent(value: number, total: number): string {
  const share = total === 0 ? 0 : (100 * value) / total;
  return `${share.toFixed(2)} %`;
}

function formatOf(unit: string): (value: number) => string {
  if (unit === 'nanoseconds') return (value) => secondsText(value / 1e9, 3);
  return unit === 'bytes' ? (value) => bytesText(value, 3) : (value) => countText(value);
}

/** Stores a profile as a file that `go tool pprof` and others read. */
async function download({ kind, takenMs, durationMs, data }: KeptProfile): Promise<void> {
  const type = kind === 'cpu' ? 'cpu' : 'inuse_space';
  const encoded = encodePprof(data, { type, takenMs, durationMs });
  const packed = new Blob([encoded]).stream().pipeThrough(new CompressionStream('gzip'));
  const taken = new Date(takenMs).toISOString().slice(0, 19).replaceAll(':', '-');
  saveFile(`almanac-${kind}-${taken}.pb.gz`, await new Response(packed).blob());
}
