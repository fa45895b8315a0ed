import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Whose attributes a column holds. */
type AttributeOwner = 'span' | 'scope' | 'resource';

/** A column of attributes. */
export interface AttributeColumn {
  readonly owner: AttributeOwner;
  /** Name of the attribute; undefined if the column holds all attributes as an object. */
  readonly key: string | undefined;
  readonly name: string;
  /** Native type name. */
  readonly type: string;
}

/** Tag of spans. */
const SERVICE = 'service_name';

/** Columns of tables of spans, as SQL, in the order of `SpanRow`. */
const FIXED: readonly (readonly [column: string, sql: string])[] = [
  ['trace_id', 'trace_id'],
  ['span_id', 'span_id'],
  ['parent_span_id', 'parent_span_id'],
  ['span_name', 'span_name'],
  [SERVICE, SERVICE],
  ['timestamp', 'epoch_us("timestamp")'],
  ['duration_nano', 'duration_nano // 1000'],
  ['span_kind', 'span_kind'],
  ['span_status_code', 'span_status_code'],
  ['span_status_message', 'span_status_message'],
  ['trace_state', 'trace_state'],
  ['scope_name', 'scope_name'],
  ['scope_version', 'scope_version'],
  ['span_events', 'span_events'],
  ['span_links', 'span_links'],
];

/** SQL of times and durations in nanoseconds. */
const NANOSECONDS: Readonly<Partial<Record<string, string>>> = {
  timestamp: 'epoch_ns("timestamp")',
  duration_nano: 'duration_nano',
};

/** Number of values before those of the attributes. */
export const FIXED_COUNT = FIXED.length;

/** The columns of a table that holds spans. */
export interface SpanSelection {
  /** Values to select: the fixed ones, then the attributes in order. */
  readonly select: string;
  readonly attributes: readonly AttributeColumn[];
  /** False until a span with a service is written. */
  readonly hasServices: boolean;
}

/** @param unit of times and durations. @throws `invalid_arguments` if the table does not hold spans. */
export function spanColumns({ name, columns }: Table, unit: 'us' | 'ns' = 'us'): SpanSelection {
  const names = new Set(columns.map((column) => column.name));
  const missing = FIXED.find(([column]) => column !== SERVICE && !names.has(column));
  if (missing !== undefined) {
    throw new AlmanacError(
      'invalid_arguments',
      `table "${name}" has no column "${missing[0]}": it does not hold spans`,
    );
  }
  const attributes = columns.flatMap(attributeColumn);
  const hasServices = names.has(SERVICE);
  const inUnit: typeof NANOSECONDS = unit === 'us' ? {} : NANOSECONDS;
  const fixed = FIXED.map(([column, sql]) => (column === SERVICE && !hasServices ? 'NULL' : (inUnit[column] ?? sql)));
  const select = [...fixed, ...attributes.map((column) => quoteName(column.name))].join(', ');
  return { select, attributes, hasServices };
}

function attributeColumn({ name, type }: Column): AttributeColumn[] {
  const match = /^(span|scope|resource)_attributes(?:\.(.+))?$/s.exec(name);
  return match === null ? [] : [{ owner: match[1] as AttributeOwner, key: match[2], name, type }];
}
