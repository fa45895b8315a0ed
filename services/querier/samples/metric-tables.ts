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

/** Collaborators of a `MetricTables`. */
export interface MetricTablesDeps {
  readonly catalog: Pick<Catalog, 'table' | 'tables'>;
  /** Name of the physical table for writes that do not name one. */
  readonly defaultTable: string;
  readonly samples: Pick<SampleStore, 'table' | 'refresh'>;
}

/** Presents each metric as a table whose columns are the labels of its series. */
export class MetricTables implements LogicalTables {
  readonly #deps: MetricTablesDeps;

  constructor(deps: MetricTablesDeps) {
    this.#deps = deps;
  }

  async find(database: string, name: string, call: Call): Promise<LogicalTable | undefined> {
    const known = await this.#physicalTables(database, call);
    for (const physical of known.length > 0 ? known : await this.#firstTable(database, call)) {
      const found = await this.#findIn(physical, name, call).catch(async (error: unknown) => {
        // A missing file means that the manifest was outdated.
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
      const labels = await samples.labelNamesWith(METRIC_NAME, metric, call);
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

  /** Looks up the default table, which the first write of a database may have created without the catalog cache knowing. */
  async #firstTable(database: string, call: Call): Promise<Table[]> {
    const { catalog, defaultTable } = this.#deps;
    try {
      return [await catalog.table(database, defaultTable, call)].filter(isMetricTable);
    } catch (error) {
      if (error instanceof AlmanacError && error.code === 'table_not_found') return [];
      throw error;
    }
  }

  /** Returns the physical tables, oldest first: a metric in several tables is read from the oldest. */
  async #physicalTables(database: string, call: Call): Promise<Table[]> {
    const tables = await this.#deps.catalog.tables(database, call);
    return tables.filter(isMetricTable).sort((a, b) => a.tableId - b.tableId);
  }
}

/** Labels and fields that occur in a metric. */
interface MetricColumns {
  readonly labels: ReadonlySet<string>;
  /** Column IDs. */
  readonly fields: ReadonlySet<number>;
}

/** Returns the columns of a metric: time, values, then labels by name. */
function columnsOf(physical: Table, { labels, fields }: MetricColumns): Column[] {
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
    // SQL column names are case-insensitive, so labels that differ only in case keep their stored names.
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
