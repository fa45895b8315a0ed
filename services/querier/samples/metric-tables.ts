import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { MissingFile } from '#shared/segments/local-store';
import { labelOfColumn } from '#shared/schema/label-column';
import { METRIC_NAME, ON_PHYSICAL_TABLE } from '#shared/schema/metric-table';
import { fieldsOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';

import type { LogicalTable, LogicalTables } from '../snapshot/logical-table.js';
import { isMetricTable } from './metric-table.js';
import type { SampleStore } from './sample-store.js';

export interface MetricTablesDeps {
  readonly catalog: Pick<Catalog, 'table' | 'tables'>;
  /** Name of the physical table that is used when writes name none. */
  readonly defaultTable: string;
  readonly samples: Pick<SampleStore, 'table' | 'refresh'>;
}

/** Metrics as tables, from the labels that their series have. */
export class MetricTables implements LogicalTables {
  readonly #deps: MetricTablesDeps;

  constructor(deps: MetricTablesDeps) {
    this.#deps = deps;
  }

  async find(database: string, name: string, call: Call): Promise<LogicalTable | undefined> {
    const known = await this.#physicalTables(database, call);
    for (const physical of known.length > 0 ? known : await this.#firstTable(database, call)) {
      const found = await this.#findIn(physical, name, call).catch(async (error: unknown) => {
        // A missing file means that a manifest was too old.
        if (!(error instanceof MissingFile)) throw error;
        await this.#deps.samples.refresh(physical, call);
        return this.#findIn(physical, name, call);
      });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #findIn(physical: Table, metric: string, call: Call): Promise<LogicalTable | undefined> {
    const samples = await this.#deps.samples.table(physical, call);
    try {
      const labels = await samples.labelsUnder(METRIC_NAME, metric, call);
      if (labels === undefined) return undefined;
      const fields = await samples.fieldsOf(metric);
      return logicalTable(physical, metric, columnsOf(physical, { labels, fields }));
    } finally {
      samples.release();
    }
  }

  async names(database: string, call: Call): Promise<readonly string[]> {
    const names = new Set<string>();
    for (const physical of await this.#physicalTables(database, call)) {
      const samples = await this.#deps.samples.table(physical, call);
      for (const name of samples.metrics()) names.add(name);
      samples.release();
    }
    return [...names].sort((a, b) => (a < b ? -1 : 1));
  }

  async alike(database: string, name: string, call: Call): Promise<string | undefined> {
    const folded = name.toLowerCase();
    for (const physical of await this.#physicalTables(database, call)) {
      const samples = await this.#deps.samples.table(physical, call);
      try {
        for (const metric of samples.metrics()) {
          if (metric.length === name.length && metric.toLowerCase() === folded) return metric;
        }
      } finally {
        samples.release();
      }
    }
    return undefined;
  }

  /** The first write of a database may have made a table that the catalog has not heard of. */
  async #firstTable(database: string, call: Call): Promise<Table[]> {
    const { catalog, defaultTable } = this.#deps;
    try {
      return [await catalog.table(database, defaultTable, call)].filter(isMetricTable);
    } catch (error) {
      if (error instanceof AlmanacError && error.code === 'table_not_found') return [];
      throw error;
    }
  }

  /** In the order in which they were made: a metric that is in several is that of the first. */
  async #physicalTables(database: string, call: Call): Promise<Table[]> {
    const tables = await this.#deps.catalog.tables(database, call);
    return tables.filter(isMetricTable).sort((a, b) => a.tableId - b.tableId);
  }
}

interface Present {
  readonly labels: ReadonlySet<string>;
  /** Ids of columns. */
  readonly fields: ReadonlySet<number>;
}

/** The columns that a metric has: time, values, then labels by name. */
function columnsOf(physical: Table, { labels, fields }: Present): Column[] {
  const byLabel = tagsOf(physical)
    .map((column) => ({ column, label: labelOfColumn(column.name) }))
    .filter(({ label }) => label !== METRIC_NAME && labels.has(label))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  const values = fieldsOf(physical).filter(({ id }) => fields.has(id));
  const time = timeIndexOf(physical);
  const folded = new Map<string, number>();
  const names = [time.name, ...values.map(({ name }) => name), ...byLabel.map(({ label }) => label)];
  for (const name of names) folded.set(name.toLowerCase(), (folded.get(name.toLowerCase()) ?? 0) + 1);
  const tags = byLabel.map(({ column, label }) => {
    // Names of columns are told apart without their case: such labels are named as they are stored.
    return folded.get(label.toLowerCase()) === 1 ? { ...column, name: label } : column;
  });
  return [time, ...values, ...tags];
}

function logicalTable(physical: Table, metric: string, columns: readonly Column[]): LogicalTable {
  const storedNames = new Map(physical.columns.map(({ id, name }) => [id, name]));
  return {
    ...physical,
    name: metric,
    columns,
    primaryKey: columns.filter(({ kind }) => kind === 'tag').map(({ name }) => name),
    options: { [ON_PHYSICAL_TABLE]: physical.name },
    source: {
      physical,
      metric,
      columns: new Map(columns.map(({ id, name }) => [name, storedNames.get(id) ?? name])),
    },
  };
}
