import { request, requestJson } from '../../core/http.js';

/** A stored pipeline, or one version of it. */
export interface StoredPipeline {
  readonly name: string;
  /** When it was stored, which is its version. */
  readonly version: string;
}

/** What a dry run made of the items. */
export interface DryRun {
  readonly tables: readonly DryRunTable[];
  readonly items: readonly DryRunItem[];
  readonly warnings: readonly string[];
}

/** Rows that would be stored in a table. */
export interface DryRunTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly role: string }[];
  /** Values by column; undefined for null. */
  readonly rows: readonly (readonly (string | undefined)[])[];
}

/** An item that failed, or was dropped. */
export interface DryRunItem {
  /** From 0. */
  readonly item: number;
  /** Empty if it succeeded. */
  readonly error: string;
  /** The processor or column that failed. */
  readonly step: string;
  readonly isDropped: boolean;
}

/** Returns the names of all pipelines, each with its latest version. */
export async function listPipelines(signal: AbortSignal): Promise<readonly StoredPipeline[]> {
  const reply = await requestJson<{ readonly pipelines: readonly StoredPipeline[] }>('v1/pipelines', { signal });
  return reply.pipelines;
}

/** Returns all versions of a pipeline, newest first. */
export async function listVersions(name: string, signal: AbortSignal): Promise<readonly StoredPipeline[]> {
  const parameters = { name, all: 'true' };
  const reply = await requestJson<{ readonly pipelines: readonly StoredPipeline[] }>('v1/pipelines', {
    parameters,
    signal,
  });
  // The parameter is the beginning of names.
  return reply.pipelines
    .filter((pipeline) => pipeline.name === name)
    .toSorted((a, b) => (a.version < b.version ? 1 : -1));
}

/** Returns the text of a pipeline. @param version undefined for the latest. */
export async function readPipeline(name: string, version: string | undefined, signal?: AbortSignal): Promise<string> {
  const reply = await requestJson<{ readonly pipelines: readonly { readonly pipeline: string }[] }>(
    `v1/pipelines/${encodeURIComponent(name)}`,
    { parameters: { version }, signal },
  );
  return reply.pipelines[0]?.pipeline ?? '';
}

/** Stores a pipeline as a new version. @returns the version, and what the server remarks. */
export async function storePipeline(
  name: string,
  text: string,
): Promise<{ readonly version: string; readonly warnings: readonly string[] }> {
  const reply = await requestJson<{
    readonly pipelines: readonly StoredPipeline[];
    readonly warnings?: readonly string[];
  }>(`v1/pipelines/${encodeURIComponent(name)}`, { body: text, headers: { 'content-type': 'application/yaml' } });
  return { version: reply.pipelines[0]?.version ?? '', warnings: reply.warnings ?? [] };
}

/** Deletes one version. */
export async function deleteVersion({ name, version }: StoredPipeline): Promise<void> {
  await request(`v1/pipelines/${encodeURIComponent(name)}`, { method: 'DELETE', parameters: { version } });
}

/** Returns the statement that would create the table of a stored pipeline. */
export async function pipelineTable(name: string, table: string, signal: AbortSignal): Promise<string> {
  const path = `v1/pipelines/${encodeURIComponent(name)}/ddl`;
  const reply = await requestJson<{ readonly sql: { readonly sql: string } }>(path, { parameters: { table }, signal });
  return reply.sql.sql;
}

interface DryRunReply {
  readonly tables?: readonly {
    readonly table_name: string;
    readonly schema: readonly { readonly name: string; readonly data_type: string; readonly column_type: string }[];
    readonly rows: readonly (readonly { readonly key: string; readonly value: unknown }[])[];
  }[];
  readonly items?: readonly {
    readonly item: number;
    readonly error?: string;
    readonly step?: string;
    readonly steps: readonly { readonly dropped?: unknown }[];
  }[];
  readonly warnings?: readonly string[];
}

/** Runs a pipeline over at most ten items, and stores nothing. @throws RequestError if the text is no pipeline. */
export async function dryRun(pipeline: string, data: readonly unknown[], signal: AbortSignal): Promise<DryRun> {
  const reply = await requestJson<DryRunReply>('v1/pipelines/_dryrun', {
    body: JSON.stringify({ pipeline, data, explain: true }),
    headers: { 'content-type': 'application/json' },
    signal,
  });
  return {
    tables: (reply.tables ?? []).map(({ table_name: name, schema, rows }) => ({
      name,
      columns: schema.map((column) => ({
        name: column.name,
        type: column.data_type,
        role: column.column_type.toLowerCase(),
      })),
      rows: rows.map((row) => {
        const values = new Map(row.map(({ key, value }) => [key, value]));
        return schema.map((column) => textOf(values.get(column.name)));
      }),
    })),
    items: (reply.items ?? []).map(({ item, error = '', step = '', steps }) => {
      return { item, error, step, isDropped: steps.some(({ dropped }) => dropped === true) };
    }),
    warnings: reply.warnings ?? [],
  };
}

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
