import type { Call } from '#shared/contracts/call';
import type { MetadataService, View, ViewName } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';

/** The views of the catalog as a process sees them. */
export interface Views {
  /** Returns a view that this process has seen. */
  known(database: string, name: string): View | undefined;
  /** Returns a view, which metadata is called for if this process has not seen it. */
  find(database: string, name: string, call: Call): Promise<View | undefined>;
  /** Returns the views of a database that this process has seen, by name. */
  ofDatabase(database: string): readonly View[];
}

/** Views by database and name, as metadata's watch delivers them. */
export class ViewCache implements Views {
  readonly #metadata: Pick<MetadataService, 'getView'>;
  readonly #byDatabase = new Map<string, Map<string, View>>();

  constructor(metadata: Pick<MetadataService, 'getView'>) {
    this.#metadata = metadata;
  }

  known(database: string, name: string): View | undefined {
    return this.#byDatabase.get(database)?.get(name);
  }

  async find(database: string, name: string, call: Call): Promise<View | undefined> {
    const known = this.known(database, name);
    if (known !== undefined) return known;
    try {
      return await this.#metadata.getView({ database, name }, call);
    } catch (error) {
      const code = error instanceof AlmanacError ? error.code : undefined;
      if (code === 'table_not_found' || code === 'database_not_found') return undefined;
      throw error;
    }
  }

  ofDatabase(database: string): readonly View[] {
    const views = [...(this.#byDatabase.get(database)?.values() ?? [])];
    return views.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Adds a view, or replaces the one of its name. */
  put(view: View): void {
    const views = this.#byDatabase.get(view.database) ?? new Map<string, View>();
    this.#byDatabase.set(view.database, views.set(view.name, view));
  }

  /** Removes a view; one that is not known changes nothing. */
  drop({ database, name }: ViewName): void {
    const views = this.#byDatabase.get(database);
    views?.delete(name);
    if (views?.size === 0) this.#byDatabase.delete(database);
  }

  /** Removes the views whose IDs are not in a complete state. */
  keep(viewIds: ReadonlySet<number>): void {
    for (const views of [...this.#byDatabase.values()]) {
      for (const view of [...views.values()]) if (!viewIds.has(view.viewId)) this.drop(view);
    }
  }
}
