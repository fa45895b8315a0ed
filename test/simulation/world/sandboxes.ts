import { openSandbox, type DuckDBInstance } from '#shared/duckdb/engine';

/** Query instances that the next simulation reuses: opening one takes longer than most work with it. */
export class Sandboxes {
  readonly #folder: string;
  readonly #free: DuckDBInstance[] = [];
  #taken: DuckDBInstance[] = [];

  /** @param folder all files that are read are in it. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async take(): Promise<DuckDBInstance> {
    const options = { threads: 1, memoryBytes: 1 << 28, spillFolder: '' };
    const instance = this.#free.pop() ?? (await openSandbox(options, this.#folder));
    this.#taken.push(instance);
    return instance;
  }

  /** Empties all instances in use, once no process uses them. */
  async giveAllBack(): Promise<void> {
    for (const instance of this.#taken) {
      const connection = await instance.connect();
      const tables = await (await connection.run('SELECT table_name FROM duckdb_tables()')).getRows();
      for (const [name] of tables) await connection.run(`DROP TABLE "${String(name)}"`);
      connection.closeSync();
      this.#free.push(instance);
    }
    this.#taken = [];
  }

  close(): void {
    for (const instance of this.#free.splice(0)) instance.closeSync();
  }
}
